package suite

import (
	"fmt"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// A model predicts the whole answer to each request of a plan: status, every member, the order,
// and what is absent. Plans are random, by the seed of the run, so they meet what nobody thought
// of when specs were written. A spec of a model makes a plan, and gives JudgePlan a function that
// does its steps and compares.
//
//	seed ─▶ plan: step 1 … n ─▶ play ─▶ Mismatch ─▶ play once more ─▶ Shorten ─▶ failure: the fewest steps that show it
//	                              ▲
//	                      model: what must be answered

// Mismatch is an answer that is not what the model predicts.
type Mismatch struct {
	// Step is the place of the step that was answered so.
	Step int
	// Clauses are the rules that the target breaks by it, the likeliest first.
	Clauses  []string
	Expected string
	Actual   any
}

// same says whether two mismatches are about the same rules.
func (m *Mismatch) same(other *Mismatch) bool {
	return strings.Join(m.Clauses, " ") == strings.Join(other.Clauses, " ")
}

// JudgePlan plays a plan, and fails the spec if an answer is not as predicted. Play must do the
// steps that it is given in a state that no earlier call has left behind, such as another slot.
// It is called up to tries times more to leave out steps that are not needed for the failure.
// What does not happen a second time is inconclusive: it may have been a bad moment of the
// machine.
func JudgePlan[Step fmt.Stringer](t *T, plan []Step, tries int, play func(steps []Step) *Mismatch) {
	first := play(plan)
	if first == nil {
		return
	}
	steps := plan[:first.Step+1]
	found := attempt(play, steps)
	if found == nil {
		t.Inconclusive("%s: expected %s; got %v; but not when it was done again", strings.Join(first.Clauses, ", "),
			first.Expected, first.Actual)
	}
	steps = Shorten(steps, tries, func(some []Step) bool {
		again := attempt(play, some)
		if again == nil || !again.same(found) {
			return false
		}
		found = again
		return true
	})
	t.expected, t.actual = found.Expected, fmt.Sprint(found.Actual)
	panic(ended{clauses.Failed, transcript(found, steps, len(plan))})
}

// attempt plays steps again. The result is nil as well if that comes to no verdict.
func attempt[Step any](play func([]Step) *Mismatch, steps []Step) (found *Mismatch) {
	defer func() {
		reason := recover()
		if end, ours := reason.(ended); reason != nil && (!ours || end.outcome != clauses.Inconclusive) {
			panic(reason)
		}
	}()
	return play(steps)
}

// transcript is the message of a failure: the clauses, what was expected, and the steps, of which
// the last one that counts is marked.
func transcript[Step fmt.Stringer](found *Mismatch, steps []Step, planned int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: expected %s; got %v; %d of the %d steps of the plan show it:", strings.Join(found.Clauses, ", "),
		found.Expected, found.Actual, len(steps), planned)
	for i, step := range steps {
		mark := " "
		if i == found.Step {
			mark = "!"
		}
		fmt.Fprintf(&b, "\n%s %d. %s", mark, i+1, step)
	}
	return b.String()
}

// Shorten leaves out steps for as long as the others still fail, halves first and then smaller
// parts (Zeller's delta debugging). It calls fails at most tries times.
func Shorten[Step any](steps []Step, tries int, fails func([]Step) bool) []Step {
	for part := len(steps) / 2; part >= 1; part /= 2 {
		for from := 0; from < len(steps); {
			to := min(from+part, len(steps))
			rest := append(append([]Step{}, steps[:from]...), steps[to:]...)
			if len(rest) == 0 {
				break
			}
			if tries--; tries < 0 {
				return steps
			}
			if fails(rest) {
				steps = rest
				continue
			}
			from = to
		}
	}
	return steps
}
