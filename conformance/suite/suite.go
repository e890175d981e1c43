// Package suite runs specs against a target: Ginkgo orders and runs them, Gomega's matchers judge
// answers, and the outcomes go to the caller. A spec names its clause. So level, feature and mode
// are written in the catalogue only. A second oracle compares every answer of a run with documents
// of the interfaces (schema.go).
//
//	catalogue ─▶ Set.It(id, …) ─▶ Ginkgo (random order by seed) ─▶ T ─probe─▶ target
//	                                                              └─▶ Result: outcome, message, exchanges
//
// Ginkgo allows one run in a process. A second run needs another process.
package suite

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
)

// Spec is one test of a clause.
type Spec struct {
	Clause clauses.Clause
	Title  string
	Body   func(*T)
	// Slow says that the spec starts with the run, beside all others. Its result is taken when its
	// turn comes.
	Slow bool
	// Last says that the spec runs after all others, because it judges what they saw.
	Last bool
}

// Set has all specs.
type Set struct {
	Specs []Spec

	catalogue *clauses.Catalogue
	titles    map[string]bool
	sane      map[string]func(*T)
	tours     map[operation]func(*T)
}

// NewSet returns an empty set over a catalogue.
func NewSet(catalogue *clauses.Catalogue) *Set {
	return &Set{catalogue: catalogue, titles: map[string]bool{}, sane: map[string]func(*T){}}
}

// It adds a spec. It panics if the catalogue does not have the id, or if the clause has a spec of
// this title already: that is a mistake in the suite.
func (s *Set) It(id, title string, body func(*T)) {
	clause, found := s.catalogue.Clause(id)
	if !found {
		panic("spec of a clause that there is not: " + id)
	}
	if s.titles[id+title] {
		panic("two specs of one title: " + id + " " + title)
	}
	s.titles[id+title] = true
	s.Specs = append(s.Specs, Spec{Clause: clause, Title: title, Body: body})
}

// Slow adds a spec that waits for the chain longer than other specs may. It runs beside them from
// the beginning. Its orders must not share hints, because their events would disturb the other
// specs.
func (s *Set) Slow(id, title string, body func(*T)) {
	s.It(id, title, body)
	s.Specs[len(s.Specs)-1].Slow = true
}

// A slow spec may take slowTimeout, or slowSlots of the world's slots if these take longer, or
// Config.Timeout if that is longer still.
const (
	slowTimeout = 3 * time.Minute
	slowSlots   = 60
)

// begin starts a slow spec. The function that it returns waits for the result.
func begin(ctx context.Context, cfg Config, spec Spec) func() Result {
	cfg.Timeout = max(cfg.Timeout, slowTimeout)
	if cfg.World != nil {
		cfg.Timeout = max(cfg.Timeout, cfg.World.Facts.Slots(slowSlots))
	}
	ended := make(chan Result, 1)
	go func() { ended <- runOne(ctx, cfg, spec, 1) }()
	return sync.OnceValue(func() Result { return <-ended })
}

// Tests says whether any spec tests the clause.
func (s *Set) Tests(id string) bool {
	return slices.ContainsFunc(s.Specs, func(spec Spec) bool { return spec.Clause.ID == id })
}

// Config says what to run.
type Config struct {
	Target *target.Target
	// World is nil in black mode.
	World *world.Client
	// Relays are what a sidecar is a client of; nil without one.
	Relays *scripted.Relays
	// Auctions are where a builder bids; nil without one.
	Auctions *scripted.Auctions
	// Proposals are the relays of a consensus client; nil without one.
	Proposals *scripted.Proposals
	// Oracle compares all exchanges with their schemas.
	Oracle *Oracle
	// Clock is the time of the target and the world; nil means the wall clock.
	Clock clock.Clock
	// Selected says whether to judge a clause.
	Selected func(clauses.Clause) bool
	// Features are what the target has of optional features; zero: all of them.
	Features Features
	// Spare leaves out clauses whose specs send what is heavy.
	Spare bool
	// Gone are interfaces that do not answer at all, with the reason. Their clauses are
	// inconclusive.
	Gone map[string]string
	Seed int64
	// Timeout bounds one spec.
	Timeout time.Duration
	// Again repeats specs that are inconclusive, each once, and at most mostAgain in a run.
	Again bool
	// Retries is how often a spec is repeated that failed or was inconclusive.
	Retries int
	// Unusable is called before the specs with each interface that cannot be judged, and the reason.
	// It may be nil.
	Unusable func(iface, reason string)
	// Progress is called with each result as it comes. It may be nil.
	Progress func(done, all int, r Result)
}

// Result is the result of one spec.
type Result struct {
	Clause  string
	Title   string
	Outcome clauses.Outcome
	Message string
	// FirstTry is why the first try failed or was inconclusive, if this is the result of a later
	// one. Tries is how many there were, and Failures has the messages of those that failed before
	// the last one.
	FirstTry  string
	Tries     int
	Failures  []string
	Expected  string
	Actual    string
	TookMs    int64
	Exchanges []probe.Exchange

	// Plan is the plan of combinations that the spec is a part of, and Judged the cases of it that the
	// spec judged.
	Plan   *Covering
	Judged []Combination

	// begun says whether the spec itself ran. It did not if a check before it ended it, such as one
	// for a missing feature.
	begun bool
}

// mostAgain is how many inconclusive specs are repeated in a run. A few may be inconclusive by
// accident, on a busy machine; with more of them, the target or the machine is in no state to be
// judged.
const mostAgain = 12

// Run runs the selected specs in random order and returns their results. The error is the suite's
// own fault. It can be called once in a process.
func (s *Set) Run(ctx context.Context, cfg Config) ([]Result, error) {
	var chosen []Spec
	for _, spec := range s.Specs {
		if cfg.Selected(spec.Clause) && spec.Clause.Retired == "" && cfg.Target.Has(spec.Clause.Interface()) {
			chosen = append(chosen, spec)
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	r := &run{ctx: ctx, cfg: cfg, specs: len(chosen), begun: map[string]func() Result{}, unanswered: map[string]int{}}
	if r.cfg.Gone = maps.Clone(cfg.Gone); r.cfg.Gone == nil {
		r.cfg.Gone = map[string]string{}
	}
	s.tellUnusable(ctx, r.cfg, chosen)
	for _, spec := range chosen {
		if spec.Slow {
			r.begun[spec.Clause.ID+spec.Title] = begin(ctx, r.cfg, spec)
		}
	}
	others := slices.DeleteFunc(slices.Clone(chosen), func(spec Spec) bool { return spec.Last })
	for _, specs := range byOperation(others) {
		ginkgo.Describe(specs[0].Clause.Operation(), func() {
			for _, spec := range specs {
				r.declare(spec)
			}
		})
	}
	runGinkgo(cfg.Seed)
	for _, spec := range chosen {
		if spec.Last {
			r.take(spec)
		}
	}
	if len(r.results) != len(chosen) {
		return r.results, fmt.Errorf("%d of %d specs ran", len(r.results), len(chosen))
	}
	return r.results, nil
}

// byOperation groups specs by their operation, in the order in which operations first appear.
func byOperation(specs []Spec) (groups [][]Spec) {
	index := map[string]int{}
	for _, spec := range specs {
		operation := spec.Clause.Operation()
		at, known := index[operation]
		if !known {
			at = len(groups)
			index[operation] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], spec)
	}
	return groups
}

// run is one run of the suite. Ginkgo and then Run run its specs one after another, so it needs no
// lock.
type run struct {
	ctx     context.Context
	cfg     Config
	specs   int
	begun   map[string]func() Result // slow specs, which run beside the others
	again   int
	results []Result
	// unanswered is how many specs of an interface in a row got no answer at all.
	unanswered map[string]int
}

// declare registers a spec with Ginkgo.
func (r *run) declare(spec Spec) {
	c := spec.Clause
	labels := ginkgo.Label("clause:"+c.ID, "level:"+string(c.Level), "profile:"+c.Profile, "mode:"+c.Mode.String())
	ginkgo.It(c.ID+" "+spec.Title, labels, func() {
		tellGinkgo(r.take(spec))
	})
}

// take judges a spec and keeps its result.
func (r *run) take(spec Spec) Result {
	result := r.judge(spec)
	r.results = append(r.results, result)
	if r.cfg.Progress != nil {
		r.cfg.Progress(len(r.results), r.specs, result)
	}
	return result
}

// judge runs a spec, and repeats it as Config.Again and Config.Retries say.
func (r *run) judge(spec Spec) Result {
	first := r.begun[spec.Clause.ID+spec.Title]
	if first == nil {
		first = func() Result { return runOne(r.ctx, r.cfg, spec, 1) }
	}
	result := first()
	result.Tries = 1
	for r.repeats(result) {
		before := result
		result = runOne(r.ctx, r.cfg, spec, uint64(before.Tries)+1)
		result.Tries, result.Failures = before.Tries+1, before.Failures
		if result.FirstTry = before.FirstTry; before.Tries == 1 {
			result.FirstTry = before.Message
		}
		if before.Outcome == clauses.Failed {
			result.Failures = append(result.Failures, before.Message)
		}
	}
	r.notice(spec.Clause.Interface(), result)
	return result
}

// repeats says whether a spec is tried once more, and counts it.
func (r *run) repeats(result Result) bool {
	open := result.begun && result.Outcome == clauses.Inconclusive
	if r.ctx.Err() != nil || !open && result.Outcome != clauses.Failed {
		return false
	}
	if result.Tries <= r.cfg.Retries {
		return true
	}
	if !r.cfg.Again || !open || result.Tries > 1 || r.again >= mostAgain {
		return false
	}
	r.again++
	return true
}

// mostUnanswered is how many specs in a row may get no answer to any request before the suite asks
// whether the interface is still there.
const mostUnanswered = 3

// notice ends the waiting for an interface that has stopped answering: once several specs in a row
// got no answer, and it does not answer a plain request either, its other specs are not begun.
func (r *run) notice(iface string, result Result) {
	if !result.begun || len(result.Exchanges) == 0 {
		return
	}
	if slices.ContainsFunc(result.Exchanges, func(e probe.Exchange) bool { return e.Said != nil }) {
		r.unanswered[iface] = 0
		return
	}
	if r.unanswered[iface]++; r.unanswered[iface] < mostUnanswered {
		return
	}
	r.unanswered[iface] = 0
	if reason := findSilence(r.ctx, r.cfg.Target, iface); reason != "" {
		r.cfg.Gone[iface] = reason
	}
}

// runGinkgo runs the declared specs in random order. Ginkgo's own output is discarded, because
// Config.Progress reports the results.
func runGinkgo(seed int64) {
	formatter.ColorableStdOut = io.Discard
	suiteConfig, reporterConfig := ginkgo.GinkgoConfiguration()
	suiteConfig.RandomSeed, suiteConfig.RandomizeAllSpecs, suiteConfig.Timeout = seed, true, 24*time.Hour
	reporterConfig.Succinct, reporterConfig.NoColor = true, true
	ginkgo.RunSpecs(&ginkgoT{}, "conformance", suiteConfig, reporterConfig)
}

// tellGinkgo reports a result to Ginkgo, which needs the outcome of each spec.
func tellGinkgo(r Result) {
	switch r.Outcome {
	case clauses.Failed, clauses.Broken:
		ginkgo.Fail(r.Message)
	case clauses.Unsupported, clauses.Inconclusive, clauses.NotAsked:
		ginkgo.Skip(r.Message)
	case clauses.OK, clauses.Lenient:
	}
}

// ginkgoT receives from Ginkgo that a spec failed. It does nothing, because the results already
// have it.
type ginkgoT struct{}

// Fail implements ginkgo.GinkgoTestingT.
func (*ginkgoT) Fail() {}
