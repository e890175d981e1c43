package deliver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Part is a part of the relay that a delivery needs.
type Part struct {
	// Name is the operators' name for it: guard, escrow, journal.
	Name string
	// Test uses the part as a delivery does, including a write. Its error means that the part does not
	// work. Calls come one after the other.
	Test func(ctx context.Context) error
}

// Probe tests the parts that a delivery needs: once a slot, before its proposer asks; after an
// error elsewhere; and again and again while a part does not answer. Each change that it finds is a
// fact.
//
//	every slot, an error elsewhere ─▶ Test all parts at once ─┬─▶ all answer                        headers are served
//	                                        ▲ every second ◀──┴─▶ an error, or no answer for 1 s    they are not
//
// While a part's answer is late, that part is not tested again. When a good answer comes, the part
// works again. Probe is safe for concurrent use.
type Probe struct {
	clock clock.Clock
	spec  *eth.Spec
	parts []Part
	facts relay.Facts
	log   *slog.Logger
	wake  chan struct{} // holds one signal

	broken atomic.Bool // at least one part has a fault

	mu     sync.Mutex // guards what follows
	faults []error    // by part, nil for one that answers
	busy   []bool     // by part: its test has not ended
}

// Spans of the tests (wall time).
const (
	// probePatience is how long a part may take to answer. A proposer that signs now would wait as
	// long.
	probePatience = time.Second
	// probeRetry is how often a relay with a fault is tested.
	probeRetry = time.Second
	// probeEnd is when a test is cancelled, so that the next one can begin.
	probeEnd = 5 * time.Second
)

// errSilent is the fault of a part that has not answered yet.
var errSilent = fmt.Errorf("no answer within %s", probePatience)

// NewProbe returns a probe that has tested nothing yet. Until it has, all parts count as working.
func NewProbe(timer clock.Clock, spec *eth.Spec, facts relay.Facts, log *slog.Logger, parts ...Part) *Probe {
	return &Probe{
		clock: timer, spec: spec, parts: parts, facts: facts, log: log, wake: make(chan struct{}, 1),
		faults: make([]error, len(parts)),
		busy:   make([]bool, len(parts)),
	}
}

// Fault says which part does not answer and why; nil if all do. It never blocks.
func (p *Probe) Fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, fault := range p.faults {
		if fault != nil {
			return fmt.Errorf("the %s: %w", p.parts[i].Name, fault)
		}
	}
	return nil
}

// Broken says whether there is a fault. It takes no lock, since every getHeader calls it.
func (p *Probe) Broken() bool { return p.broken.Load() }

// Suspect asks for a test because of an error elsewhere. The test begins now, or a second after the
// last one began. It never blocks.
func (p *Probe) Suspect() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run tests until the context ends.
func (p *Probe) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		again := time.NewTimer(probeRetry)
		p.Test(ctx)
		p.rest(ctx, again.C)
		again.Stop()
	}
	return nil
}

// rest returns when the parts are to be tested again, but not before again fires: a client that
// causes errors must not cause tests without pause.
func (p *Probe) rest(ctx context.Context, again <-chan time.Time) {
	if !p.Broken() {
		p.untilNext(ctx)
	}
	select {
	case <-ctx.Done():
	case <-again:
	}
}

// untilNext returns at the time of the next test, or when Suspect is called.
func (p *Probe) untilNext(ctx context.Context) {
	ctx, rested := context.WithCancel(ctx)
	defer rested()
	go func() {
		if p.clock.Until(ctx, p.next()) == nil {
			rested()
		}
	}()
	select {
	case <-ctx.Done():
	case <-p.wake:
	}
}

// next returns the time of the next test: a third of a slot before the slot begins.
func (p *Probe) next() time.Time {
	now, before := p.clock.Now(), p.spec.SlotDuration/3
	slot := p.spec.SlotAt(now.Add(before)) + 1
	return p.spec.SlotStart(slot).Add(-before)
}

// Test tests all parts at once, and returns when each has answered or has taken too long.
func (p *Probe) Test(ctx context.Context) {
	var waiting sync.WaitGroup
	for i := range p.parts {
		if p.begin(i) {
			waiting.Go(func() { p.test(ctx, i) })
		}
	}
	waiting.Wait()
}

// begin notes that a part is being tested. It is false if an earlier test of the part has not
// ended.
func (p *Probe) begin(i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[i] {
		return false
	}
	p.busy[i] = true
	return true
}

// test tests one part. After probePatience it returns, and a goroutine goes on waiting for the
// answer.
func (p *Probe) test(ctx context.Context, i int) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		testing, cancel := context.WithTimeout(ctx, probeEnd)
		defer cancel()
		err := cause(p.parts[i].Test(testing))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.busy[i] = false
		if ctx.Err() == nil { // otherwise the relay stops, and the error says nothing
			p.noteFault(i, err)
		}
	}()
	timer := time.NewTimer(probePatience)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.busy[i] {
			p.noteFault(i, errSilent)
		}
	}
}

// noteFault notes whether a part works, and reports a change. The caller holds mu, so that changes
// are reported in their order.
func (p *Probe) noteFault(i int, fault error) {
	changed := (fault == nil) != (p.faults[i] == nil)
	p.faults[i] = fault
	if !changed {
		return
	}
	p.broken.Store(slices.ContainsFunc(p.faults, func(err error) bool { return err != nil }))
	fact := relay.DeliveryPathChanged{At: p.clock.Now(), Part: p.parts[i].Name, Works: fault == nil}
	if fault != nil {
		fact.Detail = fault.Error()
		p.log.Error("no headers are served: payloads could not be delivered", "part", fact.Part, "error", fault)
	} else {
		p.log.Info("a part that deliveries need answers again", "part", fact.Part, "headers_are_served", !p.Broken())
	}
	p.facts.Record(fact)
}

// cause is the error as operators and clients of /readyz see it: the system's message, without
// paths of this machine.
func cause(err error) error {
	path := (*fs.PathError)(nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errSilent
	case errors.As(err, &path):
		return path.Err
	}
	return err
}
