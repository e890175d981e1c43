package app

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/plan"
	"github.com/gavel-relay/gavel/internal/exec"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/relay"
	relayapp "github.com/gavel-relay/gavel/relay/app"
)

// relayService is one relay with what its operator has given it.
type relayService struct {
	*process
	lab   *lab
	index int
	plan  plan.RelayPlan
	dir   string
	met   string // the URL by which agents meet it
	clock *skewed
	// validator is the relay's way to its execution node, which faults slow down or cut.
	validator *validator
}

func (l *lab) newRelay(index int, one plan.RelayPlan) (s *relayService, err error) {
	s = &relayService{
		lab: l, index: index, plan: one, dir: filepath.Join(l.dir, one.Name), clock: l.clockOf(one.Name), validator: newValidator(l),
	}
	if s.process, err = newProcess(one.Name, s.open); err == nil && l.buildersStall() {
		s.wrap = newNarrow
	}
	return s, err
}

// open makes a relay that learns of the network from its beacon node, behind its own proxy.
func (s *relayService) open(ctx context.Context) (service, error) {
	beaconURL, err := s.lab.links.to(s.name, plan.BeaconNode, s.lab.beaconURL)
	if err != nil {
		return nil, err
	}
	return relayapp.New(ctx, s.config(beaconURL))
}

func (s *relayService) config(beaconURL string) relayapp.Config {
	l := s.lab
	cfg := relayapp.Config{
		BeaconURLs: []string{beaconURL}, Key: l.network.relayKey(s.index), DataDir: s.dir, Clock: s.clock, Validator: s.validator,
		ValidatorLive: s.validator.live, HeaderCutOff: l.patience(3 * time.Second), PayloadCutOff: l.patience(4 * time.Second),
		RevealDelay: time.Second, Limits: relayapp.Limits{PerSecond: -1}, Observe: l.book.observe(s.name), Log: l.log.With("part", s.name),
	}
	if l.buildersStall() {
		cfg.TopBidQueue = narrowTops
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
