package suite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
)

// T is the argument of a spec: its target, its world, and the functions that judge. The report has
// every exchange that goes through its clients.
type T struct {
	gomega.Gomega
	context.Context // a spec is one call with T as its only argument

	Clause clauses.Clause
	Target *target.Target
	// World is nil in black mode. A clause of another mode is then inconclusive before its spec
	// begins.
	World *world.Client
	// Relays are what the target is a client of, if it is a sidecar; otherwise nil.
	Relays *scripted.Relays
	// Auctions are where the target bids, if it is a builder; otherwise nil.
	Auctions *scripted.Auctions
	// Proposals are the relays of the target, if it is a consensus client; otherwise nil.
	Proposals *scripted.Proposals
	// Random is the spec's own generator, seeded by the run's seed and the spec's name.
	Random *rand.Rand

	clock    clock.Clock
	recorder *probe.Recorder
	oracle   *Oracle
	// prepares says that requests only prepare the spec; see Preparing.
	prepares bool
	lenient  string
	expected string
	actual   string
	plan     *Covering
	judged   []Combination
}

// ended is the panic by which a spec ends before its last line.
type ended struct {
	outcome clauses.Outcome
	message string
}

// runOne runs one spec and returns its result. Each try makes different random choices, such as
// keys.
func runOne(ctx context.Context, cfg Config, spec Spec, try uint64) (result Result) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	t := newT(ctx, cfg, spec, try)
	result = Result{Clause: spec.Clause.ID, Title: spec.Title, Outcome: clauses.OK}
	defer func() {
		result.Plan, result.Judged = t.plan, t.judged
		result.TookMs, result.Exchanges = time.Since(began).Milliseconds(), t.recorder.Exchanges()
		if reason := recover(); reason != nil {
			end, ours := reason.(ended)
			if !ours {
				end = ended{clauses.Broken, fmt.Sprintf("%v\n%s", reason, debug.Stack())}
			}
			result.Outcome, result.Message = end.outcome, strings.TrimSpace(end.message)
		} else if t.lenient != "" {
			result.Outcome, result.Message = clauses.Lenient, t.lenient
		}
		if result.Outcome == clauses.Failed {
			result.Expected, result.Actual = t.expected, t.actual
		}
	}()
	if ctx.Err() != nil {
		t.Inconclusive("the run was over before this began")
	}
	if cfg.World != nil && cfg.World.Facts.HasGloas() != spec.Clause.IsGloas() {
		t.NotRun("%s", otherWorlds(spec.Clause))
	}
	if reason, gone := cfg.Gone[spec.Clause.Interface()]; gone {
		t.Inconclusive("%s", reason)
	}
	if setting := spec.Clause.Setting; setting != "" && !cfg.Target.Declares(setting) {
		t.NotRun("the target does not declare %s: %s", setting, clauses.Settings[setting])
	}
	if heavy := spec.Clause.Heavy; heavy != "" && cfg.Spare {
		t.NotRun("left out without --heavy: it sends %s", heavy)
	}
	switch reason := cfg.Features.lack(spec.Clause); {
	case reason != "":
		t.Unsupported("%s", reason)
	case spec.Clause.Mode > clauses.Black && cfg.World == nil:
		t.Inconclusive("needs %s mode: a world that the target follows (chain.worldUrl)", spec.Clause.Mode)
	}
	if iface, is := strings.CutPrefix(spec.Clause.Setting, "literal."); is {
		t.Target = t.Target.AsLiteral(iface)
	}
	result.begun = true
	spec.Body(t)
	return result
}

// otherWorlds says in which worlds a clause is judged that is not judged in this one.
func otherWorlds(c clauses.Clause) string {
	if c.IsGloas() {
		return "the world has no slots of gloas: give it some (--fork gloas)"
	}
	return "in a world with slots of gloas only the clauses of that fork are judged (GLO-…)"
}

// newT makes the argument of a spec's try.
func newT(ctx context.Context, cfg Config, spec Spec, try uint64) *T {
	t := &T{
		Context: ctx, Clause: spec.Clause, Target: cfg.Target, World: cfg.World, Relays: cfg.Relays,
		Auctions: cfg.Auctions, Proposals: cfg.Proposals,
		recorder: probe.NewRecorder(time.Now()), clock: cfg.clockOf(spec.Clause), oracle: cfg.Oracle,
		Random: rand.New(rand.NewPCG(uint64(cfg.Seed), try*hash(spec.Clause.ID+spec.Title))),
	}
	if cfg.Oracle != nil {
		t.recorder.Watch(cfg.Oracle.Watcher(spec.Clause.ID))
	}
	t.Gomega = gomega.NewGomega(func(message string, _ ...int) { panic(ended{clauses.Failed, message}) })
	return t
}

// clockOf is the clock by which specs of a clause wait. A sidecar's relays and its slots are
// scripted by the wall.
func (c Config) clockOf(about clauses.Clause) clock.Clock {
	if c.Clock == nil || about.Interface() == "sidecar" {
		return clock.Real{}
	}
	return c.Clock
}

func hash(text string) (sum uint64) {
	for _, b := range []byte(text) {
		sum = sum*1099511628211 + uint64(b)
	}
	return sum
}

// Check fails the spec unless ok. The report shows expected and actual, in words.
func (t *T) Check(ok bool, expected string, actual any) {
	t.expected, t.actual = expected, fmt.Sprint(actual)
	if !ok {
		panic(ended{clauses.Failed, fmt.Sprintf("expected %s; got %v", expected, actual)})
	}
}

// Inconclusive ends the spec: nothing can be said about the clause.
func (t *T) Inconclusive(format string, args ...any) {
	panic(ended{clauses.Inconclusive, fmt.Sprintf(format, args...)})
}

// Ready ends the spec as inconclusive if err is not nil. It is for steps that prepare the spec.
func (t *T) Ready(err error, what string) {
	if err != nil {
		t.Inconclusive("%s: %v", what, err)
	}
}

// Prepared ends the spec as inconclusive unless the answer has one of the statuses. It is for
// requests that prepare the spec.
func (t *T) Prepared(a *probe.Answer, what string, statuses ...int) {
	if !slices.Contains(statuses, a.Status) {
		t.Inconclusive("%s: %s", what, a)
	}
}

// Preparing returns a T for the requests that only prepare the spec: if one gets no answer, the
// spec is inconclusive. So one cause, such as a target that is down, is not shown as many broken
// rules.
func (t *T) Preparing() *T {
	prepares := *t
	prepares.prepares = true
	return &prepares
}

// NotRun ends the spec without a request: the clause is about something that target or world need
// not have, and do not have.
func (t *T) NotRun(format string, args ...any) {
	panic(ended{clauses.NotAsked, fmt.Sprintf(format, args...)})
}

// Unsupported ends the spec: the target lacks an optional feature that the clause is about.
func (t *T) Unsupported(format string, args ...any) {
	panic(ended{clauses.Unsupported, fmt.Sprintf(format, args...)})
}

// Lenient marks the outcome as allowed, but not preferred.
func (t *T) Lenient(format string, args ...any) { t.lenient = fmt.Sprintf(format, args...) }

// RecordPlan tells the report of which plan of combinations the spec has judged which cases.
func (t *T) RecordPlan(plan Covering, judged []Combination) { t.plan, t.judged = &plan, judged }

// Show has the report show a request that the target has sent.
func (t *T) Show(e probe.Exchange) { t.recorder.Show(e) }

// Client returns a client for an address of the target.
func (t *T) Client(base string) *probe.Client {
	return probe.NewClient(base, t.recorder, t.Target.Budgets.Answer()).By(t.clock)
}

// Do sends a request and returns its answer. It fails the spec if no answer comes.
func (t *T) Do(c *probe.Client, r probe.Request) *probe.Answer {
	answer, err := c.Do(t, r)
	if err != nil {
		t.endWithoutAnswer(err)
	}
	return answer
}

func (t *T) endWithoutAnswer(err error) {
	if t.Err() != nil {
		t.Inconclusive("the time of the spec is over")
	}
	if t.prepares {
		t.Inconclusive("a request that prepares the spec has no answer: %v", err)
	}
	t.Check(false, "an answer", err)
}

// Get sends a GET and returns its answer, as Do does.
func (t *T) Get(c *probe.Client, path string) *probe.Answer {
	return t.Do(c, probe.Request{Method: "GET", Path: path})
}

// Epochs returns how long so many epochs of the target's world take.
func (t *T) Epochs(n uint64) time.Duration {
	return t.World.Facts.Slots(int(n * t.World.Facts.SlotsPerEpoch))
}

// Status fails the spec unless the answer has one of the statuses.
func (t *T) Status(a *probe.Answer, statuses ...int) {
	words := make([]string, len(statuses))
	for i, status := range statuses {
		words[i] = fmt.Sprint(status)
	}
	t.Check(slices.Contains(statuses, a.Status), "status "+strings.Join(words, " or "), a)
}

// Now returns the time of the target and the world. Specs wait and measure by it, so that they come
// to the same verdict on a busy machine, if all run in one process by a clock that waits for work.
func (t *T) Now() time.Time { return t.clock.Now() }

// Clock returns the clock of Now.
func (t *T) Clock() clock.Clock { return t.clock }

// Eventually repeats look until it returns nil, for at most the given time. It returns the last
// error of look.
func (t *T) Eventually(within time.Duration, look func() error) error {
	deadline := t.Now().Add(within)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := look()
		if err == nil || t.Now().After(deadline) || t.clock.Until(t, t.Now().Add(pause)) != nil {
			return err
		}
	}
}

// Until waits until the given time.
func (t *T) Until(at time.Time) {
	if t.clock.Until(t, at) != nil {
		t.Inconclusive("the time of the spec is over")
	}
}
