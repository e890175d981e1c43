package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/devnet/network"
)

// killable is a part of the lab that can be killed, and started again at the same address.
type killable interface {
	called() string
	// start starts it, unless it runs already. It returns once it serves.
	start(ctx context.Context) error
	// kill ends it at once; stop ends it in order. Both do nothing if it does not run.
	kill() error
	stop() error
}

// process is a service of the lab as its operator sees it: an operating system process that can be
// killed, paused, and started again at its address with its data on disk. It is safe for concurrent
// use.
//
//	start ─▶ a process opens, listens ─▶ serves … kill (SIGKILL), or stop ─▶ gone ─▶ start
type process struct {
	name    string
	address string // host:port, the same after each restart
	program program
	clock   *labClock
	// config returns the service's configuration for one start. start fills in clock, name and
	// address.
	config func() (*serviceConfig, error)
	// facts receives the facts of the service's journal.
	facts   func(subject string, fact json.RawMessage)
	logFile string
	debug   bool   // log on the debug level too
	diskDir string // the folder of its data, if that is on a disk of the lab

	mu          sync.Mutex   // guards the fields below
	incarnation *incarnation // nil while the service does not run
	skew        time.Duration
	disk        diskOrder // the condition of its disk
}

var _ killable = (*process)(nil)

// newProcess reserves an address, but does not start the service.
func (l *planRun) newProcess(name string, config func() (*serviceConfig, error),
	facts func(string, json.RawMessage)) (*process, error) {
	address, err := network.FreeAddress()
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

// newJournals returns the servers of a service's journal, each as a process of its own: one, or a
// cluster of as many as nodes says.
func (l *planRun) newJournals(of string, nodes int) ([]*process, error) {
	var routes []string
	for range nodes {
		route, err := network.FreeAddress()
		if err != nil {
			return nil, err
		}
		routes = append(routes, route)
	}
	var list []*process
	for i := range max(1, nodes) {
		name, plan := of+"-journal", journalPlan{Routes: routes}
		if nodes > 0 {
			name, plan.Route = fmt.Sprintf("%s-%d", name, i+1), routes[i]
		}
		plan.DataDir = filepath.Join(l.dir, name)
		one, err := l.newProcess(name, func() (*serviceConfig, error) { return &serviceConfig{Journal: &plan}, nil }, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// journalURL returns the URL of a journal's servers at these addresses, as a service is configured
// with it.
func journalURL(addresses []string) string {
	var urls []string
	for _, address := range addresses {
		urls = append(urls, "nats://"+address)
	}
	return strings.Join(urls, ",")
}

// pid returns the service's process id, 0 if it does not run.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.incarnation == nil {
		return 0
	}
	return p.incarnation.process.Pid
}

// url returns the service's base URL, which is the same after each restart.
func (p *process) url() string { return "http://" + p.address }

// start implements killable.
func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.incarnation != nil {
		return nil
	}
	cfg, err := p.config()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	cfg.Name, cfg.Address, cfg.Clock = p.name, p.address, p.clock.plan()
	cfg.Clock.Skew, cfg.Debug = p.skew, p.debug
	incarnation, err := p.program.begin(cfg, p.logFile, p.diskDir, p.disk, p.facts)
	if err == nil {
		err = incarnation.serves(ctx)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w: see %s", p.name, err, p.logFile)
	}
	p.incarnation = incarnation
	// The clock may have been started after the configuration was made.
	return p.tell(order{StartedNs: p.clock.plan().StartedNs})
}

// kill implements killable.
func (p *process) kill() error { return p.end("kill", (*incarnation).kill) }

// cutPower ends the process at once, and discards what its disk has not kept.
func (p *process) cutPower() error { return p.end("cut the power of", (*incarnation).cutPower) }

// stop implements killable. The error says how the service ended, if not in order.
func (p *process) stop() error { return p.end("stop", (*incarnation).stop) }

func (p *process) end(how string, end func(*incarnation) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.incarnation == nil {
		return nil
	}
	err := end(p.incarnation)
	p.incarnation = nil
	if err != nil {
		return fmt.Errorf("%s %s: %w: see %s", how, p.name, err, p.logFile)
	}
	return nil
}

// pause stops the process (SIGSTOP), resume continues it. Both do nothing if it does not run.
func (p *process) pause() error  { return p.signal("pause", pause) }
func (p *process) resume() error { return p.signal("resume", resume) }

func (p *process) signal(how string, send func(*incarnation) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.incarnation == nil {
		return nil
	}
	if err := send(p.incarnation); err != nil {
		return fmt.Errorf("%s %s: %w", how, p.name, err)
	}
	return nil
}

// setSkew makes the service's clock wrong, now and after restarts. With jump, waits that have begun
// notice it too.
func (p *process) setSkew(skew time.Duration, jump bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = skew
	return p.tell(order{Skew: &skew, Jump: jump})
}

// setDisk changes the condition of the service's disk, now and after restarts.
func (p *process) setDisk(change func(*diskOrder)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.disk)
	if p.incarnation == nil {
		return nil
	}
	if err := p.incarnation.disk.order(p.disk); err != nil {
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

// tell sends an order, if the service runs. The caller holds mu.
func (p *process) tell(what order) error {
	if p.incarnation == nil {
		return nil
	}
	if err := p.incarnation.order(what); err != nil {
		return fmt.Errorf("tell %s: %w", p.name, err)
	}
	return nil
}
