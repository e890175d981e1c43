// Package suite runs specs against a target: Ginkgo orders and runs them, Gomega's matchers judge
// answers, and the outcomes go to whoever asked. A spec is born from a clause, so that its level,
// feature and mode stand in the catalogue only.
//
//	catalogue ─▶ Set.It(id, …) ─▶ Ginkgo (random order by seed) ─▶ T ─probe─▶ target
//	                                                              └─▶ Result: outcome, message, exchanges
//
// Ginkgo allows one run in a process: whoever needs two starts another process.
package suite

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/verdict"
	"github.com/gavel-relay/gavel/conformance/world"
)

// Spec is one test of a clause.
type Spec struct {
	Clause clauses.Clause
	Title  string
	Body   func(*T)
	// Slow is begun with the run, beside all others, and judged when its turn comes.
	Slow bool
}

// Set is all specs.
type Set struct {
	Specs []Spec

	catalogue *clauses.Catalogue
	titles    map[string]bool
}

// NewSet returns an empty set over a catalogue.
func NewSet(catalogue *clauses.Catalogue) *Set {
	return &Set{catalogue: catalogue, titles: map[string]bool{}}
}

// It adds a spec. An id that the catalogue does not have, or a title that stands twice, is a
// mistake in the suite and panics.
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

// Slow adds a spec that mostly waits for the chain, for longer than the others may: it runs beside
// them from the beginning. It must not be heard by them: its orders share nothing.
func (s *Set) Slow(id, title string, body func(*T)) {
	s.It(id, title, body)
	s.Specs[len(s.Specs)-1].Slow = true
}

// slowTimeout bounds a slow spec, if specs have less.
const slowTimeout = 3 * time.Minute

// begin begins a slow spec; what it returns waits for its result.
func begin(ctx context.Context, cfg Config, spec Spec) func() Result {
	cfg.Timeout = max(cfg.Timeout, slowTimeout)
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
	// Selected says whether a clause is to be judged.
	Selected func(clauses.Clause) bool
	// Lacks are features that the target does not have, with the reason.
	Lacks map[string]string
	// Gone are interfaces that do not answer at all, with the reason: their clauses are inconclusive.
	Gone map[string]string
	Seed int64
	// Timeout bounds one spec.
	Timeout time.Duration
	// Again tries specs once more that come to no verdict, but not more than mostAgain in a run.
	Again bool
	// Progress is told each result as it comes; nil is nobody.
	Progress func(done, all int, r Result)
}

// Result is what came of one spec.
type Result struct {
	Clause  string
	Title   string
	Outcome verdict.Outcome
	Message string
	// FirstTry is why the first try came to no verdict, if this is of the second one.
	FirstTry  string
	Expected  string
	Actual    string
	TookMs    int64
	Exchanges []probe.Exchange

	// begun says whether the spec itself ran, and not only what is looked at before it.
	begun bool
}

// mostAgain is how many specs are tried once more: a world has its moments, and who needs more of
// them than that is in no state to be judged.
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
	var results []Result
	byOperation := map[string][]Spec{}
	var operations []string
	for _, spec := range chosen {
		operation := spec.Clause.Operation()
		if byOperation[operation] == nil {
			operations = append(operations, operation)
		}
		byOperation[operation] = append(byOperation[operation], spec)
	}
	again := 0
	begun := map[string]func() Result{}
	for _, spec := range chosen {
		if spec.Slow {
			begun[spec.Clause.ID+spec.Title] = begin(ctx, cfg, spec)
		}
	}
	for _, operation := range operations {
		ginkgo.Describe(operation, func() {
			for _, spec := range byOperation[operation] {
				c := spec.Clause
				labels := ginkgo.Label("clause:"+c.ID, "level:"+string(c.Level), "profile:"+c.Profile, "mode:"+c.Mode.String())
				ginkgo.It(c.ID+" "+spec.Title, labels, func() {
					run := begun[c.ID+spec.Title]
					if run == nil {
						run = func() Result { return runOne(ctx, cfg, spec, 1) }
					}
					result := run()
					if cfg.Again && again < mostAgain && result.begun && result.Outcome == verdict.Inconclusive {
						again++
						why := result.Message
						result = runOne(ctx, cfg, spec, 2)
						result.FirstTry = why
					}
					results = append(results, result)
					if cfg.Progress != nil {
						cfg.Progress(len(results), len(chosen), result)
					}
					tellGinkgo(result)
				})
			}
		})
	}
	formatter.ColorableStdOut = io.Discard // the progress is told by whoever asked
	suiteConfig, reporterConfig := ginkgo.GinkgoConfiguration()
	suiteConfig.RandomSeed, suiteConfig.RandomizeAllSpecs, suiteConfig.Timeout = cfg.Seed, true, 24*time.Hour
	reporterConfig.Succinct, reporterConfig.NoColor = true, true
	quiet := &ginkgoT{}
	ginkgo.RunSpecs(quiet, "conformance", suiteConfig, reporterConfig)
	if len(results) != len(chosen) {
		return results, fmt.Errorf("%d of %d specs ran", len(results), len(chosen))
	}
	return results, nil
}

// tellGinkgo ends the spec as Ginkgo knows it, for its own reports.
func tellGinkgo(r Result) {
	switch r.Outcome {
	case verdict.Failed, verdict.Broken:
		ginkgo.Fail(r.Message)
	case verdict.Unsupported, verdict.Inconclusive, verdict.NotAsked:
		ginkgo.Skip(r.Message)
	case verdict.OK, verdict.Lenient:
	}
}

// ginkgoT is what Ginkgo tells that a spec failed; the results know already.
type ginkgoT struct{}

// Fail implements ginkgo.GinkgoTestingT.
func (*ginkgoT) Fail() {}
