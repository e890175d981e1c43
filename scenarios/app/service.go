package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/plan"
	"github.com/gavel-relay/gavel/internal/exec"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	relayapp "github.com/gavel-relay/gavel/relay/app"
)

// relayService is one relay as its operator sees it: it can be killed, and started again at its address with what it has on disk.
type relayService struct {
	lab     *lab
	index   int
	plan    plan.RelayPlan
	dir     string
	address string
	met     string // the URL by which agents meet it
	clock   *skewed
	// validator is the relay's way to its execution node, which faults slow down or cut.
	validator *validator

	mu      sync.Mutex // guards what follows
	running bool
	stop    context.CancelFunc
	ended   chan error
}

func (s *relayService) name() string { return relayName(s.index) }

// publicURL is where the relay is met by agents: its own address.
func (s *relayService) publicURL() string { return "http://" + s.address }

// start opens the relay and lets it serve. It learns of the network from its beacon node, behind its own proxy.
func (s *relayService) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return nil
	}
	listener, err := serve.Listen(s.address)
	if err != nil {
		return err
	}
	beaconURL, err := s.lab.links.to(s.name(), plan.BeaconNode, s.lab.beaconURL)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	app, err := relayapp.New(ctx, s.config(beaconURL))
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", s.name(), err), app.Close(), listener.Close())
	}
	s.address = listener.Addr().String()
	running, stop := context.WithCancel(ctx)
	s.stop, s.ended, s.running = stop, make(chan error, 1), true
	ended := s.ended
	go func() { ended <- errors.Join(app.Serve(running, listener), app.Close()) }()
	return nil
}

func (s *relayService) config(beaconURL string) relayapp.Config {
	l := s.lab
	cfg := relayapp.Config{
		BeaconURLs: []string{beaconURL}, Key: l.network.relayKey(s.index), DataDir: s.dir, Clock: s.clock, Validator: s.validator,
		ValidatorLive: s.validator.live, HeaderCutOff: l.patience(3 * time.Second), PayloadCutOff: l.patience(4 * time.Second),
		RevealDelay: time.Second, Limits: relayapp.Limits{PerSecond: -1}, Observe: l.book.observe(s.name()), Log: l.log.With("part", s.name()),
	}
	if s.plan.HeaderCutOff > 0 {
		cfg.HeaderCutOff = s.plan.HeaderCutOff
	}
	if s.plan.PayloadCutOff > 0 {
		cfg.PayloadCutOff = s.plan.PayloadCutOff
	}
	for i := range l.plan.Builders {
		for _, trusted := range s.plan.Optimistic {
			if trusted == builderName(i) {
				cfg.Builders = append(cfg.Builders, relay.Builder{
					Name: trusted, Pubkeys: []phase0.BLSPubKey{l.network.builderKey(i).PublicKey()},
					Optimistic: true, CollateralWei: new(uint256.Int).Mul(uint256.NewInt(1000), uint256.NewInt(1e18)),
				})
			}
		}
	}
	return cfg
}

// kill stops the relay and waits until it is gone. Requests that are running are given no time.
func (s *relayService) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return nil
	}
	s.running = false
	s.stop()
	if err := <-s.ended; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stop %s: %w", s.name(), err)
	}
	return nil
}

// freePort is an address that a service keeps when it is started again.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// database is where the relay keeps its archive.
func (s *relayService) database() string { return filepath.Join(s.dir, "archive.db") }

// validator is an execution node that can be slow or away. It is safe for concurrent use.
type validator struct {
	exec.Validator

	mu   sync.Mutex // guards what follows
	slow time.Duration
	down bool
}

func newValidator(l *lab) *validator {
	return &validator{Validator: execchain.New(l.chain.Chain(), execchain.Options{})}
}

func (v *validator) set(change func(*validator)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(v)
}

func (v *validator) state() (time.Duration, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.slow, v.down
}

func (v *validator) live() bool {
	_, down := v.state()
	return !down
}

// Validate implements exec.Validator.
func (v *validator) Validate(ctx context.Context, block *exec.Block) exec.Verdict {
	slow, down := v.state()
	if down {
		return exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleUnavailable, Detail: "the execution node is away"}
	}
	timer := time.NewTimer(slow)
	defer timer.Stop()
	select {
	case <-timer.C:
		return v.Validator.Validate(ctx, block)
	case <-ctx.Done():
		return exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleInterrupted, Detail: ctx.Err().Error()}
	}
}
