// Package verdict derives the verdicts on clauses and profiles, and the exit status of the run,
// from the outcomes of specs. It is pure: the same outcomes and expectations always give the same
// result.
//
//	specs ─▶ outcomes ─┐
//	clauses ───────────┼─▶ one verdict a clause ─▶ profiles ─▶ exit status
//	expected.yaml ─────┘
package verdict

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is the result of one run of one spec.
type Outcome string

// The outcomes.
const (
	OK           Outcome = "ok"
	Lenient      Outcome = "lenient"      // allowed, but not what is preferred
	Failed       Outcome = "failed"       // the clause is broken
	Unsupported  Outcome = "unsupported"  // the target lacks an optional feature, and says so in a form that is allowed
	Inconclusive Outcome = "inconclusive" // the world is too small, or preparing the spec failed
	// the target was not asked: the clause is about something that target or world need not have,
	// and do not have
	NotAsked Outcome = "not-asked"
	Broken   Outcome = "error" // the suite itself is at fault
)

// Verdict is the verdict on one clause.
type Verdict string

// The verdicts.
const (
	Pass        Verdict = "pass"
	PassLenient Verdict = "pass-lenient"
	Fail        Verdict = "fail"
	Warn        Verdict = "warn"  // the clause fails, but is no MUST
	XFail       Verdict = "xfail" // fails as it was expected to
	XPass       Verdict = "xpass" // passes although it was expected to fail: the expectation is stale
	Flaky       Verdict = "flaky" // fails at times, as it was expected to
	NotFeature  Verdict = "unsupported"
	NotSure     Verdict = "inconclusive"
	NotRun      Verdict = "not-run"
	Disputed    Verdict = "disputed" // its sources contradict each other: recorded, not scored
	SuiteError  Verdict = "error"
)

// Verdicts are all verdicts in the order of reports: those that somebody should look at come first.
var Verdicts = []Verdict{
	SuiteError, Fail, XPass, Warn, NotSure, Flaky, XFail, Disputed, NotFeature, NotRun, PassLenient, Pass,
}

// Clause has the properties of a clause that its verdict depends on.
type Clause struct {
	ID    string
	Must  bool
	Disp  bool // its sources contradict each other
	Chose bool // it was selected for this run
}

// Spec is one spec and the results of its runs; there are several if it was repeated.
type Spec struct {
	Clause string
	Title  string
	Runs   []Run
}

// Run is one run of a spec.
type Run struct {
	Outcome Outcome
	// Message says why, in words; empty for ok.
	Message string
}

// Expectation is an entry of expected.yaml: which clause is known to fail, how, and why. An entry
// that matches no failure is stale.
type Expectation struct {
	Clause string `yaml:"clause"`
	// Spec is the title of one spec; empty means every spec of the clause.
	Spec string `yaml:"spec"`
	// Expect is fail or flaky.
	Expect string `yaml:"expect"`
	// Match must be a part of the failure's message, so that a new way of failing is noticed.
	Match  string `yaml:"match"`
	Reason string `yaml:"reason"`
	Issue  string `yaml:"issue"`
	// Until is the last day on which the expectation counts, such as 2027-01-31; empty is for ever.
	Until string `yaml:"until"`
}

// Check returns an error if the entry is incomplete or wrong.
func (e Expectation) Check() error {
	switch {
	case e.Clause == "":
		return fmt.Errorf("expectation without a clause: give its id")
	case e.Expect != "fail" && e.Expect != "flaky":
		return fmt.Errorf("%s: expect is %q: give fail or flaky", e.Clause, e.Expect)
	case e.Match == "":
		return fmt.Errorf("%s: no match: give a part of the message that it fails with", e.Clause)
	case e.Reason == "":
		return fmt.Errorf("%s: no reason: say why it is expected", e.Clause)
	}
	if e.Until == "" {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, e.Until); err != nil {
		return fmt.Errorf("%s: until is %q: give a day such as 2027-01-31", e.Clause, e.Until)
	}
	return nil
}

// covers says whether the entry is about this spec, and counts at this time.
func (e Expectation) covers(s Spec, at time.Time) bool {
	if e.Clause != s.Clause || e.Spec != "" && e.Spec != s.Title {
		return false
	}
	until, err := time.Parse(time.DateOnly, e.Until)
	return err != nil || at.Before(until.AddDate(0, 0, 1))
}

// Result is the verdict on a clause, and why in words.
type Result struct {
	Clause  string
	Verdict Verdict
	Why     string
}

// badness orders verdicts on single specs. A clause gets the worst of them.
var badness = map[Verdict]int{
	Pass: 0, NotRun: 1, NotFeature: 2, PassLenient: 3, NotSure: 4, XFail: 5, Flaky: 6, XPass: 7, Warn: 8, Fail: 9,
	SuiteError: 10,
}

// Of judges a clause by its specs.
func Of(c Clause, specs []Spec, expected []Expectation, at time.Time) Result {
	result := Result{Clause: c.ID, Verdict: NotRun, Why: "deselected"}
	if !c.Chose {
		return result
	}
	result.Why = "no spec tests it"
	for i, spec := range specs {
		v, why := ofSpec(c, spec, expected, at)
		// A pass wins over a spec that was not tested, because all of the clause that could be
		// tested passes.
		yields := func(v Verdict) bool { return v == NotFeature || v == NotRun }
		if i == 0 || badness[v] > badness[result.Verdict] && (!yields(v) || result.Verdict != Pass) || v == Pass &&
			yields(result.Verdict) {
			result.Verdict, result.Why = v, why
		}
	}
	if c.Disp && len(specs) > 0 && result.Verdict != SuiteError {
		result.Verdict, result.Why = Disputed, strings.TrimSpace(string(result.Verdict)+" "+result.Why)
	}
	return result
}

// ofSpec judges one spec by its runs.
func ofSpec(c Clause, spec Spec, expected []Expectation, at time.Time) (Verdict, string) {
	var failure, message string
	failed, passed, worst := 0, 0, OK
	for _, run := range spec.Runs {
		switch run.Outcome {
		case Failed:
			failed++
			failure = run.Message
		case OK, Lenient:
			passed++
		default:
		}
		if run.Outcome != OK && run.Outcome != Failed {
			worst, message = run.Outcome, run.Message
		}
		if run.Outcome == Broken {
			return SuiteError, run.Message
		}
	}
	var entry *Expectation
	for i := range expected {
		if expected[i].covers(spec, at) {
			entry = &expected[i]
			break
		}
	}
	switch {
	case len(spec.Runs) == 0:
		return NotRun, "it never ran"
	case failed > 0:
		return ofFailure(c, entry, failure, passed > 0)
	case entry != nil && passed > 0 && entry.Expect == "fail":
		return XPass, "passes, although expected.yaml says: " + entry.Reason
	case entry != nil && passed > 0:
		return Flaky, "passed this time; " + entry.Reason
	case worst == Inconclusive:
		return NotSure, message
	case worst == NotAsked:
		return NotRun, message
	case worst == Unsupported:
		return NotFeature, message
	case worst == Lenient:
		return PassLenient, message
	default:
		return Pass, ""
	}
}

func ofFailure(c Clause, entry *Expectation, failure string, atTimes bool) (Verdict, string) {
	matches := entry != nil && strings.Contains(failure, entry.Match)
	switch {
	case matches && entry.Expect == "flaky":
		return Flaky, entry.Reason + ": " + failure
	case matches && !atTimes:
		return XFail, entry.Reason + ": " + failure
	case entry != nil && !matches:
		failure = fmt.Sprintf("fails, but not as expected (%q): %s", entry.Match, failure)
	case atTimes:
		failure = "fails at times: " + failure
	}
	if c.Must {
		return Fail, failure
	}
	return Warn, failure
}

// Stale returns the entries that matched no failure, because their clause passes or does not exist,
// their spec does not exist, or their last day is over. An entry whose clause was not selected or
// could not be judged is not stale while it counts.
func Stale(expected []Expectation, results []Result, known func(id string) bool, at time.Time) []string {
	byClause := map[string]Verdict{}
	for _, r := range results {
		byClause[r.Clause] = r.Verdict
	}
	var stale []string
	for _, e := range expected {
		v := byClause[e.Clause]
		switch {
		case !known(e.Clause):
			stale = append(stale, e.Clause+": there is no such clause")
		case v == XPass:
			stale = append(stale, e.Clause+": passes now")
		case !e.covers(Spec{Clause: e.Clause, Title: e.Spec}, at):
			stale = append(stale, e.Clause+": ended on "+e.Until)
		case v == Pass || v == PassLenient:
			stale = append(stale, e.Clause+": names no spec that there is")
		}
	}
	return stale
}
