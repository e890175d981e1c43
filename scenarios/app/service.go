package app

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/devnet/network"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/scenarios"
)

// relayService is one relay, with what its operator provides.
type relayService struct {
	*process
	lab   *planRun
	index int
	plan  scenarios.RelayPlan
	dir   string
	met   string // the URL that agents use
	// validator is the relay's execution node, which faults can slow down or stop.
	validator *validator
	// journals are the servers of its journal, if those are processes of their own. The instances of
	// a relay have the same, which start with the first of them.
	journals []*process
}

func (l *planRun) newRelay(index int, one scenarios.RelayPlan) (s *relayService, err error) {
	s = &relayService{lab: l, index: index, plan: one, dir: filepath.Join(l.dir, one.Name), validator: newValidator(l)}
	if err := s.validator.listen(); err != nil {
		return nil, err
	}
	switch {
	case one.InstanceOf != "":
		first := l.relayNamed(one.InstanceOf)
		s.index, s.journals = first.index, first.journals
	case l.plan.JournalApart(one.Name):
		if s.journals, err = l.newJournals(one.Name, one.JournalNodes); err != nil {
			return nil, err
		}
	}
	s.process, err = l.newProcess(one.Name, s.config, l.book.observe(one.Name))
	return s, err
}

// config returns the relay's configuration for one start. The relay learns of the network from its
// beacon node, through a proxy.
func (s *relayService) config() (*serviceConfig, error) {
	l := s.lab
	beaconURL, err := l.links.to(s.name, scenarios.BeaconNode, l.beaconURL)
	if err != nil {
		return nil, err
	}
	relay := &devnetapp.RelayConfig{
		Index: s.index, Seed: l.plan.Seed, DataDir: s.dir, BeaconURL: beaconURL, ValidationURL: s.validator.url,
		HeaderCutOff: l.network.Patience(3 * time.Second), PayloadCutOff: l.network.Patience(4 * time.Second),
		Trusted: map[string]phase0.BLSPubKey{}, Bids: !l.plan.Forks[len(l.plan.Forks)-1].Fork.HasBlindedBlocks(),
	}
	if relay.JournalURL, err = s.journalURL(); err != nil {
		return nil, err
	}
	if l.buildersStall() {
		relay.TopBidQueue = narrowTops
	}
	if s.plan.HeaderCutOff > 0 {
		relay.HeaderCutOff = s.plan.HeaderCutOff
	}
	if s.plan.PayloadCutOff > 0 {
		relay.PayloadCutOff = s.plan.PayloadCutOff
	}
	for i := range l.plan.Builders {
		if slices.Contains(s.plan.Optimistic, network.BuilderName(i)) {
			relay.Trusted[network.BuilderName(i)] = l.network.BuilderKey(i).PublicKey()
		}
	}
	return &serviceConfig{Narrow: l.buildersStall(), Relay: relay}, nil
}

// journalURL returns the URL of the relay's journal: empty for one in its own process.
func (s *relayService) journalURL() (string, error) {
	var addresses []string
	for _, server := range s.journals {
		addresses = append(addresses, server.address)
	}
	if s.lab.plan.JournalIsFar(s.name) {
		var err error
		if addresses, err = s.lab.links.toJournal(s.name, addresses); err != nil {
			return "", err
		}
	}
	return journalURL(addresses), nil
}

// database returns the path of the relay's archive.
func (s *relayService) database() string { return filepath.Join(s.dir, "archive.db") }

// validator is an execution node that can be slow or down. It is safe for concurrent use.
type validator struct {
	exec.Validator

	url    string
	server *http.Server

	mu   sync.Mutex // guards the fields below
	slow time.Duration
	down bool
}

func newValidator(l *planRun) *validator {
	return &validator{Validator: l.network.Validator()}
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

// listen serves the node's API to the relay, as any execution node would. A node that is down
// answers with status 503.
func (v *validator) listen() error {
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	judge := network.ValidationHandler(v)
	v.url = "http://" + listener.Addr().String()
	v.server = &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, down := v.state(); down {
				http.Error(w, "the execution node is away", http.StatusServiceUnavailable)
				return
			}
			judge.ServeHTTP(w, r)
		})}
	go func() { _ = v.server.Serve(listener) }() // runs until the server is closed
	return nil
}

// Validate implements exec.Validator.
func (v *validator) Validate(ctx context.Context, block *exec.Block) exec.Verdict {
	slow, _ := v.state()
	timer := time.NewTimer(slow)
	defer timer.Stop()
	select {
	case <-timer.C:
		return v.Validator.Validate(ctx, block)
	case <-ctx.Done():
		return exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleInterrupted, Detail: ctx.Err().Error()}
	}
}
