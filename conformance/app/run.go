// Package app puts a run together: the target, its world, the specs of all interfaces, verdicts and
// the report. It also starts and stops targets in containers (docker.go), whose world runs outside
// of the containers, on this machine:
//
//	target.yaml ─┐                                   ┌─ container "relay"
//	             ├─▶ StartContainers ─▶ Engine ──────┼─ container "rpc" ── "stream" in its network
//	words ───────┘     │                             └──────────┬────────────┘
//	(BEACON_URL, …)    ▼                                        ▼ gateway of the engine's network
//	      RunningContainers.Target: where they are    world: beacon node, execution node, validation node
//
// A container learns about the world only what its command, environment and files say, so an
// implementation of somebody else is started in the same way as ours. The suite reaches all
// containers at published ports.
package app

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/builder"
	"github.com/gavel-relay/gavel/conformance/suite/relay"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
	"github.com/gavel-relay/gavel/conformance/suite/sidecar"
	"github.com/gavel-relay/gavel/conformance/suite/stream"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
)

// Options says what to run.
type Options struct {
	Target *target.Target
	// Patterns of clause ids to judge, such as REL-HDR-*; empty is all.
	Patterns []string
	// Levels, Profiles and Interfaces to judge; empty is all.
	Levels     []string
	Profiles   []string
	Interfaces []string
	// Most is the highest mode to judge. With black, clauses that need a world are deselected;
	// otherwise they would be inconclusive without a world.
	Most     clauses.Mode
	Expected []clauses.Expectation
	// Relays are what a sidecar is a client of; nil without one. See OpenSidecar.
	Relays *scripted.Relays
	// Auctions are where a builder bids; nil without one. See OpenBuilder.
	Auctions *scripted.Auctions
	// Proposals are the relays of a consensus client; nil without one. See OpenConsensus.
	Proposals *scripted.Proposals
	Seed      int64
	// Clock is the time of target and world; nil is the wall clock.
	Clock clock.Clock
	// Timeout bounds one spec, in wall time; 0 is a minute, and longer in a world of long slots or
	// many validators.
	Timeout time.Duration
	// Again repeats specs that are inconclusive, once. Retries is how often a spec is repeated that
	// failed or was inconclusive; one that fails at times is flaky.
	Again   bool
	Retries int
	// Deadline bounds the whole run; what is not judged by then is inconclusive. 0 is blackDeadline
	// without a world, and no bound with one.
	Deadline time.Duration
	// Require are features that the target must have: it breaks the clauses about one that it lacks.
	Require []string
	// Heavy sends what is heavy also to a target without a world, which may be somebody else's.
	Heavy bool
	// WithoutModels leaves out the clauses of models.
	WithoutModels bool
	// Shard chooses one of several parts of the clauses.
	Shard Shard
	// Unusable is called before the specs with each interface that cannot be judged, and the reason.
	// It may be nil.
	Unusable func(iface, reason string)
	// Progress is called with each result as it comes.
	Progress func(done, all int, r suite.Result)
	// Reproduce is the command line that repeats the run; the report shows it.
	Reproduce string
	// Killers are the ids of the mutants on which a clause must fail, by the clause's id.
	Killers map[string][]string
}

// blackDeadline bounds a run without a world. Such a run takes seconds, but for servers that take
// seconds for each answer.
const blackDeadline = 5 * time.Minute

// UsageError is the caller's mistake.
type UsageError struct{ text string }

// Error implements error.
func (e UsageError) Error() string { return e.text }

// Specs returns the whole suite: the catalogue of clauses and the specs that test them.
func Specs() (*clauses.Catalogue, *suite.Set, error) {
	catalogue, err := clauses.Load()
	if err != nil {
		return nil, nil, fmt.Errorf("the catalogue is wrong: %w", err)
	}
	set := suite.NewSet(catalogue)
	relay.Specs(set)
	rpc.Specs(set)
	stream.Specs(set)
	sidecar.Specs(set)
	builder.Specs(set)
	sidecar.ConsensusSpecs(set)
	documents, err := suite.LoadDocuments()
	if err != nil {
		return nil, nil, fmt.Errorf("the documents are wrong: %w", err)
	}
	relay.Schemas(set, documents["relay"])
	stream.Schemas(set, documents["stream"])
	rpc.Schemas(set, documents["rpc"])
	sidecar.Schemas(set, documents["relay"])
	return catalogue, set, nil
}

// Run runs the suite and judges its results. The error is the caller's mistake or the suite's
// fault; what is wrong with the target is in the report.
func Run(ctx context.Context, o Options) (*report.Report, error) {
	began := time.Now()
	catalogue, set, err := Specs()
	if err != nil {
		return nil, err
	}
	chosen, err := o.choose(catalogue)
	if err != nil {
		return nil, err
	}
	if err := target.CheckFeatures(o.Require); err != nil {
		return nil, UsageError{fmt.Sprintf("require: %v", err)}
	}
	around, err := o.enter(ctx)
	if err != nil {
		return nil, err
	}
	running := ctx
	if o.Deadline > 0 {
		var stop context.CancelFunc
		running, stop = context.WithTimeout(ctx, o.Deadline)
		defer stop()
	}
	gone := suite.FindGone(running, o.Target)
	features := suite.Probe(running, o.Target, gone)
	unusable := map[string]string{}
	oracle, err := oracleOf(o.Target)
	if err != nil {
		return nil, err
	}
	results, err := set.Run(running, suite.Config{
		Target: o.Target, World: around, Relays: o.Relays, Auctions: o.Auctions, Proposals: o.Proposals,
		Oracle:   oracle,
		Selected: func(c clauses.Clause) bool { return chosen[c.ID] },
		Features: features, Gone: gone, Clock: o.Clock, Seed: o.Seed, Timeout: o.Timeout, Again: o.Again,
		Retries: o.Retries, Spare: around == nil && !o.Heavy, Progress: o.Progress,
		Unusable: func(iface, reason string) {
			unusable[iface] = reason
			if o.Unusable != nil {
				o.Unusable(iface, reason)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	r := &report.Report{
		Schema: report.Schema, Suite: report.Suite{Version: version(), Clauses: len(catalogue.Clauses)},
		Started: began.UTC().Format(time.RFC3339),
		Seed:    o.Seed, Mode: min(o.Most, o.Target.Mode()).String(), Target: o.Target.Redacted(),
		Features: report.Features(features), Reproduce: o.Reproduce, Unusable: unusable,
	}
	if around != nil {
		r.Fork = around.Facts.Fork
	}
	r.Schemas, r.Combinations = schemasOf(oracle), combinationsOf(results)
	o.judge(r, catalogue, chosen, results, began)
	r.TookMs = time.Since(began).Milliseconds()
	return r, nil
}

// oracleOf makes the oracle of a target, by the documents in this program.
func oracleOf(t *target.Target) (*suite.Oracle, error) {
	documents, err := suite.LoadDocuments()
	if err != nil {
		return nil, fmt.Errorf("the documents are wrong: %w", err)
	}
	return suite.NewOracle(documents, t), nil
}

// schemasOf is what the oracle found, as the report has it.
func schemasOf(o *suite.Oracle) (list []report.SchemaOperation) {
	for _, found := range o.Found() {
		op := report.SchemaOperation{Interface: found.Interface, Operation: found.Operation, Answers: found.Answers}
		for _, f := range found.Faults {
			op.Violations = append(op.Violations, report.SchemaViolation{Level: f.Level, Cause: f.Cause, Example: f.Example,
				Answers: f.Answers, Clause: f.Clause})
		}
		list = append(list, op)
	}
	return list
}

// enter connects to the target's world, if the run has one, and gives the options that are left out
// the values that suit it.
func (o *Options) enter(ctx context.Context) (around *world.Client, err error) {
	if o.Target.Chain.WorldURL == "" || o.Most == clauses.Black {
		o.Timeout, o.Deadline = cmp.Or(o.Timeout, time.Minute), cmp.Or(o.Deadline, blackDeadline)
		return nil, nil
	}
	if around, err = world.Dial(ctx, o.Target.Chain.WorldURL); err != nil {
		return nil, UsageError{fmt.Sprintf("chain.worldUrl: %v", err)}
	}
	o.Timeout = cmp.Or(o.Timeout, max(time.Minute, 2*around.Facts.Patience()))
	o.Target = fitToWorld(o.Target, around.Facts)
	return around, nil
}

// fitToWorld returns the target with budgets that suit its world: an answer may wait for its slot
// to begin, as one to a proposer that asks for its payload early.
func fitToWorld(t *target.Target, f world.Facts) *target.Target {
	patient := *t
	patient.Budgets.AnswerMs = max(t.Budgets.AnswerMs, int((f.Slots(1) + time.Second).Milliseconds()))
	return &patient
}

// judge fills the report with the verdicts that follow from the results.
func (o Options) judge(r *report.Report, catalogue *clauses.Catalogue, chosen map[string]bool, results []suite.Result,
	at time.Time) {
	var judged []clauses.Subject
	var verdicts []clauses.Result
	for _, c := range catalogue.Clauses {
		entry := report.Clause{Clause: c, Mode: c.Mode.String(), Specs: []report.Spec{}, Mutants: o.Killers[c.ID]}
		var specs []clauses.Spec
		for _, result := range results {
			if result.Clause == c.ID {
				specs = append(specs, clauses.Spec{Clause: c.ID, Title: result.Title, Runs: runsOf(result)})
				entry.Specs = append(entry.Specs, report.Spec{
					Title: result.Title, Outcome: result.Outcome, Message: result.Message, Expected: result.Expected,
					Actual: result.Actual, FirstTry: result.FirstTry, Tries: result.Tries, TookMs: result.TookMs,
					Exchanges: keptExchanges(result),
				})
				r.Tries += max(result.Tries, 1)
			}
		}
		about := clauses.Subject{ID: c.ID, Must: c.Level == clauses.Must, Disp: c.Disputed != "", Chose: chosen[c.ID],
			Required: c.Feature != "" && target.Names(o.Require, c)}
		v := clauses.Judge(about, specs, o.Expected, at)
		entry.Verdict, entry.Why, entry.Expected = v.Verdict, v.Why, v.Expected
		judged, verdicts = append(judged, about), append(verdicts, v)
		r.Clauses = append(r.Clauses, entry)
	}
	r.Stale = clauses.Stale(o.Expected, verdicts, at)
	r.Exit = exitOf(judged, verdicts, r)
	r.Summarize()
}

// exitOf returns the exit status of a run. An interface that cannot be judged is no broken rule: it
// makes the run unusable, unless one of the others is broken.
func exitOf(judged []clauses.Subject, verdicts []clauses.Result, r *report.Report) int {
	var usable []clauses.Result
	for i, c := range r.Clauses {
		if _, is := r.Unusable[c.Interface()]; !is {
			usable = append(usable, verdicts[i])
		}
	}
	exit := clauses.ExitStatus(judged, usable, r.Stale)
	if len(r.Unusable) > 0 && exit != clauses.Nonconformant && exit != clauses.SuiteFault {
		return clauses.Unusable
	}
	return exit
}

// runsOf returns all runs of a spec that count: those that failed, and the last one.
func runsOf(r suite.Result) (runs []clauses.Run) {
	for _, message := range r.Failures {
		runs = append(runs, clauses.Run{Outcome: clauses.Failed, Message: message})
	}
	return append(runs, clauses.Run{Outcome: r.Outcome, Message: r.Message})
}

// keptExchanges returns the exchanges that a report shows: the last one of a spec that passed, and
// all of any other.
func keptExchanges(r suite.Result) (list []probe.Exchange) {
	if r.Outcome == clauses.OK && len(r.Exchanges) > 1 {
		return r.Exchanges[len(r.Exchanges)-1:]
	}
	return r.Exchanges
}

// choose returns the ids of the clauses to judge.
func (o Options) choose(catalogue *clauses.Catalogue) (map[string]bool, error) {
	chosen := map[string]bool{}
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	for _, pattern := range patterns {
		matching := catalogue.Match(pattern)
		if len(matching) == 0 {
			return nil, UsageError{fmt.Sprintf("no clause is named %s: see gavel-lab conformance list", pattern)}
		}
		for _, c := range matching {
			chosen[c.ID] = o.wants(c)
		}
	}
	o.Shard.keep(catalogue, chosen)
	for _, wanted := range chosen {
		if wanted {
			return chosen, nil
		}
	}
	return nil, UsageError{"nothing is selected: no clause fits all of the selection and the target's interfaces"}
}

// wantsInterface says whether the run judges an interface: whether a clause of it is selected.
func (o Options) wantsInterface(iface string) (bool, error) {
	catalogue, err := clauses.Load()
	if err != nil {
		return false, fmt.Errorf("the catalogue is wrong: %w", err)
	}
	chosen, err := o.choose(catalogue)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(catalogue.Clauses, func(c clauses.Clause) bool {
		return chosen[c.ID] && c.Interface() == iface
	}), nil
}

func (o Options) wants(c clauses.Clause) bool { return o.Target.Has(c.Interface()) && o.fits(c) }

func match(pattern, id string) bool {
	ok, err := path.Match(pattern, id)
	return ok && err == nil
}

// fits says whether a clause's level, profile, interface and mode are selected, and the clause is
// neither retired nor a model's that is left out.
func (o Options) fits(c clauses.Clause) bool {
	fits := func(list []string, value string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(word string) bool { return strings.EqualFold(word, value) })
	}
	return c.Retired == "" && c.Mode <= o.Most && (!o.WithoutModels || !c.IsModel()) &&
		fits(o.Levels, string(c.Level)) && fits(o.Profiles, c.Profile) &&
		fits(o.Interfaces, c.Interface())
}

// version returns the revision or the module version that this program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(12, len(setting.Value))]
		}
	}
	return info.Main.Version
}
