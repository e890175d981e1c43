package clauses

import (
	"fmt"
	"path"
	"slices"
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

// Subject has the properties of a clause that its verdict depends on.
type Subject struct {
	ID    string
	Must  bool
	Disp  bool // its sources contradict each other
	Chose bool // it was selected for this run
	// Required says that the caller demands the optional feature that the clause is about. A target
	// that lacks it then breaks the clause.
	Required bool
}

// Spec is one spec and the results of its runs; there are several if it failed and was repeated.
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
	// Clause is an id, or a pattern of ids such as REL-HDR-*. A pattern is met if one of its clauses
	// ends as it says; the others may pass.
	Clause string `yaml:"clause"`
	// Spec is the title of one spec; empty means every spec of the clause.
	Spec string `yaml:"spec,omitempty"`
	// Expect is one of Expectables: fail, warn (a failure of what is no MUST), flaky or inconclusive.
	Expect string `yaml:"expect"`
	// Match must be a part of the failure's message, so that a new way of failing is noticed.
	Match  string `yaml:"match"`
	Reason string `yaml:"reason"`
	Issue  string `yaml:"issue,omitempty"`
	// Until is the last day on which the expectation counts, such as 2027-01-31; empty is for ever.
	Until string `yaml:"until,omitempty"`
}

// Expectables are what an expectation may expect.
var Expectables = []string{"fail", "warn", "flaky", "inconclusive"}

// Check returns an error if the entry is incomplete or wrong.
func (e Expectation) Check() error {
	switch {
	case e.Clause == "":
		return fmt.Errorf("expectation without a clause: give its id")
	case !slices.Contains(Expectables, e.Expect):
		return fmt.Errorf("%s: expect is %q: give one of %s", e.Clause, e.Expect, strings.Join(Expectables, ", "))
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

// names says whether the entry is about the clause with this id.
func (e Expectation) names(id string) bool {
	fits, err := path.Match(e.Clause, id)
	return fits && err == nil
}

// isPattern says whether the entry is about several clauses, of which not all need to fail.
func (e Expectation) isPattern() bool { return strings.ContainsAny(e.Clause, "*?[") }

// isInForce says whether the entry's last day is not over.
func (e Expectation) isInForce(at time.Time) bool {
	until, err := time.Parse(time.DateOnly, e.Until)
	return err != nil || at.Before(until.AddDate(0, 0, 1))
}

// covers says whether the entry is about this spec, and counts at this time.
func (e Expectation) covers(s Spec, at time.Time) bool {
	return e.names(s.Clause) && (e.Spec == "" || e.Spec == s.Title) && e.isInForce(at)
}

// Result is the verdict on a clause, and why in words.
type Result struct {
	Clause  string
	Verdict Verdict
	Why     string
	// Expected says that it could not be judged, as an expectation says.
	Expected bool
}

// badness orders verdicts on single specs. A clause gets the worst of them.
var badness = map[Verdict]int{
	Pass: 0, NotRun: 1, NotFeature: 2, PassLenient: 3, NotSure: 4, XFail: 5, Flaky: 6, XPass: 7, Warn: 8, Fail: 9,
	SuiteError: 10,
}

// Judge judges a clause by its specs.
func Judge(c Subject, specs []Spec, expected []Expectation, at time.Time) Result {
	result := Result{Clause: c.ID, Verdict: NotRun, Why: "deselected"}
	if !c.Chose {
		return result
	}
	result.Why = "no spec tests it"
	for i, spec := range specs {
		now := judgeSpec(c, spec, expected, at)
		// A pass wins over a spec that was not tested, because all of the clause that could be
		// tested passes.
		yields := func(v Verdict) bool { return v == NotFeature || v == NotRun }
		better := badness[now.Verdict] > badness[result.Verdict] || now.Verdict == result.Verdict && result.Expected
		if i == 0 || better && (!yields(now.Verdict) || result.Verdict != Pass) || now.Verdict == Pass &&
			yields(result.Verdict) {
			result = now
		}
	}
	found := !slices.Contains([]Verdict{SuiteError, NotSure, NotRun}, result.Verdict)
	if c.Disp && found {
		result.Verdict, result.Why = Disputed, strings.TrimSpace(string(result.Verdict)+" "+result.Why)
	}
	return result
}

// tally is what the runs of one spec came to.
type tally struct {
	failed, passed int
	failure        string // the message of the last failure
	worst          Outcome
	message        string // of the worst other outcome
}

func count(runs []Run) (t tally) {
	t.worst = OK
	for _, run := range runs {
		switch run.Outcome {
		case Failed:
			t.failed++
			t.failure = run.Message
		case OK, Lenient:
			t.passed++
		default:
		}
		if run.Outcome != OK && run.Outcome != Failed && t.worst != Broken {
			t.worst, t.message = run.Outcome, run.Message
		}
	}
	return t
}

// judgeSpec judges one spec by its runs.
func judgeSpec(c Subject, spec Spec, expected []Expectation, at time.Time) Result {
	t := count(spec.Runs)
	var entry *Expectation
	if i := slices.IndexFunc(expected, func(e Expectation) bool { return e.covers(spec, at) }); i >= 0 {
		entry = &expected[i]
	}
	is := func(v Verdict, why string) Result { return Result{Clause: c.ID, Verdict: v, Why: why} }
	switch {
	case t.worst == Broken:
		return is(SuiteError, t.message)
	case len(spec.Runs) == 0:
		return is(NotRun, "it never ran")
	case t.failed > 0:
		return is(judgeFailure(c, entry, t))
	case t.worst == Unsupported && c.Required:
		t.failure = "the feature is required, and the target lacks it: " + t.message
		return is(judgeFailure(c, entry, t))
	case t.passed > 0 && entry != nil && entry.Expect == "flaky":
		return is(Flaky, "passed this time; "+entry.Reason)
	case t.passed > 0 && entry != nil && !entry.isPattern():
		return is(XPass, "passes, although expected.yaml says: "+entry.Reason)
	case t.worst == Inconclusive:
		result := is(NotSure, t.message)
		if entry != nil && entry.Expect == "inconclusive" && strings.Contains(t.message, entry.Match) {
			result.Why, result.Expected = entry.Reason+": "+t.message, true
		}
		return result
	case t.worst == NotAsked:
		return is(NotRun, t.message)
	case t.worst == Unsupported:
		return is(NotFeature, t.message)
	case t.worst == Lenient:
		return is(PassLenient, t.message)
	default:
		return is(Pass, "")
	}
}

// judgeFailure judges a spec that failed, perhaps not in all of its runs.
func judgeFailure(c Subject, entry *Expectation, t tally) (Verdict, string) {
	matches := entry != nil && strings.Contains(t.failure, entry.Match)
	why := t.failure
	switch {
	case matches && entry.Expect == "flaky":
		return Flaky, entry.Reason + ": " + why
	case t.passed > 0 && (entry == nil || matches):
		return Flaky, fmt.Sprintf("failed in %d of %d tries: %s", t.failed, t.failed+t.passed, why)
	case matches && (entry.Expect == "fail" || entry.Expect == "warn" && !c.Must):
		return XFail, entry.Reason + ": " + why
	case matches:
		why = fmt.Sprintf("fails, but was expected to be %s: %s", entry.Expect, why)
	case entry != nil && !entry.isPattern():
		why = fmt.Sprintf("fails, but not as expected (%q): %s", entry.Match, why)
	}
	if c.Must {
		return Fail, why
	}
	return Warn, why
}

// Stale returns the entries that matched no failure, because their clause passes or does not exist,
// their spec does not exist, or their last day is over. An entry whose clause was not selected or
// could not be judged is not stale while it counts. Results has all clauses that there are.
func Stale(expected []Expectation, results []Result, at time.Time) []string {
	var stale []string
	for _, e := range expected {
		var about []Verdict
		for _, r := range results {
			if e.names(r.Clause) {
				about = append(about, r.Verdict)
			}
		}
		passes := func(v Verdict) bool { return v == Pass || v == PassLenient || v == XPass }
		switch {
		case len(about) == 0:
			stale = append(stale, e.Clause+": there is no such clause")
		case !e.isPattern() && slices.Contains(about, XPass):
			stale = append(stale, e.Clause+": passes now")
		case !e.isInForce(at):
			stale = append(stale, e.Clause+": ended on "+e.Until)
		case !slices.ContainsFunc(about, passes) || slices.ContainsFunc(about, func(v Verdict) bool {
			return v == XFail ||
				v == Flaky || v == NotSure
		}):
		case e.isPattern():
			stale = append(stale, e.Clause+": none of them fails now")
		default:
			stale = append(stale, e.Clause+": names no spec that there is")
		}
	}
	return stale
}
