package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/scenarios/fault"
)

// killable is what can be killed, and started again at its address.
type killable interface {
	called() string
	// start lets it serve, unless it does already; it returns once it does.
	start(ctx context.Context) error
	// kill ends it at once, stop in order; without a life that runs they do nothing.
	kill() error
	stop() error
}

// process is a service of the lab as its operator sees it: a process of its own, which can be
// killed, paused, and started again at its address with what it has on disk. It is safe for
// concurrent use.
//
//	start ─▶ a process opens, listens ─▶ serves … kill (SIGKILL), or stop ─▶ gone ─▶ start
type process struct {
	name    string
	address string // host:port; the same in every life
	program program
	clock   *labClock
	// config says what a life of the service is to be; clock, name and address are filled in here.
	config func() (*serviceConfig, error)
	// facts is told the facts of its journal.
	facts   func(subject string, fact json.RawMessage)
	logFile string
	debug   bool   // logs more
	diskDir string // the folder of its data, if that is on a disk of the lab's own

	mu   sync.Mutex // guards what follows
	life *life      // nil while there is none
	skew time.Duration
	disk diskOrder // the condition of its disk
}

var _ killable = (*process)(nil)

// newProcess has an address of its own, but does not run.
func (l *lab) newProcess(name string, config func() (*serviceConfig, error),
	facts func(string, json.RawMessage)) (*process, error) {
	address, err := fault.Address()
	diskDir := ""
	if l.plan.BreaksDisk(name) {
		diskDir = filepath.Join(l.dir, name)
		err = errors.Join(err, os.MkdirAll(diskDir, 0o700))
	}
	return &process{
		name: name, address: address, program: l.program, clock: l.clock, config: config, facts: facts,
		logFile: l.logFile(name),
		diskDir: diskDir, debug: l.log.Enabled(context.Background(), slog.LevelDebug),
	}, err
}

// called implements killable.
func (p *process) called() string { return p.name }

// newJournal is the server of a service's journal, apart from the service.
func (l *lab) newJournal(of string) (*process, error) {
	name := of + "-journal"
	return l.newProcess(name, func() (*serviceConfig, error) {
		return &serviceConfig{Journal: &journalPlan{DataDir: filepath.Join(l.dir, name)}}, nil
	}, nil)
}

// pid is the service's process in the system, 0 without a life that runs.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == nil {
		return 0
	}
	return p.life.process.Pid
}

// url is where the process is met, in every life.
func (p *process) url() string { return "http://" + p.address }

// start implements killable.
func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != nil {
		return nil
	}
	cfg, err := p.config()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	cfg.Name, cfg.Address, cfg.Clock = p.name, p.address, p.clock.plan()
	cfg.Clock.Skew, cfg.Debug = p.skew, p.debug
	life, err := p.program.begin(cfg, p.logFile, p.diskDir, p.disk, p.facts)
	if err == nil {
		err = life.serves(ctx)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w: see %s", p.name, err, p.logFile)
	}
	p.life = life
	// The clock may have been started since it was asked.
	return p.tell(order{StartedNs: p.clock.plan().StartedNs})
}

// kill implements killable.
func (p *process) kill() error { return p.end("kill", (*life).kill) }

// cutPower ends it at once, and takes away what its disk has not kept.
func (p *process) cutPower() error { return p.end("cut the power of", (*life).cutPower) }

// stop implements killable. The error is what the service ended with, if it was not in order.
func (p *process) stop() error { return p.end("stop", (*life).stop) }

func (p *process) end(how string, end func(*life) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == nil {
		return nil
	}
	err := end(p.life)
	p.life = nil
	if err != nil {
		return fmt.Errorf("%s %s: %w: see %s", how, p.name, err, p.logFile)
	}
	return nil
}

// pause stops the process where it stands, resume lets it go on; one that does not run is left
// alone.
func (p *process) pause() error  { return p.signal("pause", pause) }
func (p *process) resume() error { return p.signal("resume", resume) }

func (p *process) signal(how string, send func(*life) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == nil {
		return nil
	}
	if err := send(p.life); err != nil {
		return fmt.Errorf("%s %s: %w", how, p.name, err)
	}
	return nil
}

// setSkew makes the service's clock wrong, in this life and in later ones. A jump is noticed by
// waits that have begun, too.
func (p *process) setSkew(skew time.Duration, jump bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = skew
	return p.tell(order{Skew: &skew, Jump: jump})
}

// setDisk changes the condition of the service's disk, in this life and in later ones.
func (p *process) setDisk(change func(*diskOrder)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.disk)
	if p.life == nil {
		return nil
	}
	if err := p.life.disk.order(p.disk); err != nil {
		return fmt.Errorf("change the disk of %s: %w", p.name, err)
	}
	return nil
}

// clockStarted tells the service that the lab's clock runs.
func (p *process) clockStarted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tell(order{StartedNs: p.clock.plan().StartedNs})
}

// tell gives an order, if there is somebody to take it. The caller holds mu.
func (p *process) tell(what order) error {
	if p.life == nil {
		return nil
	}
	if err := p.life.order(what); err != nil {
		return fmt.Errorf("tell %s: %w", p.name, err)
	}
	return nil
}
