package suite

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// What is left of a plan still fails, in the order of the plan, and without any one of its steps
// it does not, if there are tries enough.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := make([]int, rapid.IntRange(1, 40).Draw(t, "steps"))
		for i := range plan {
			plan[i] = i
		}
		needed := rapid.SliceOfNDistinct(rapid.IntRange(0, len(plan)-1), 1, min(3, len(plan)),
			rapid.ID[int]).Draw(t, "needed")
		slices.Sort(needed)
		fails := func(steps []int) bool {
			return !slices.ContainsFunc(needed, func(n int) bool { return !slices.Contains(steps, n) })
		}
		if got := Shorten(plan, 10_000, fails); !slices.Equal(got, needed) {
			t.Fatalf("%v of %d steps are left, and %v are needed", got, len(plan), needed)
		}
		calls := 0
		got := Shorten(plan, 3, func(steps []int) bool { calls++; return fails(steps) })
		if calls > 3 || !fails(got) {
			t.Fatalf("%v is left after %d tries", got, calls)
		}
	})
}

type number int

func (n number) String() string { return "say " + strconv.Itoa(int(n)) }

// judged runs a plan of ten numbers as a spec. Wrong says whether the answer to the last of steps
// is wrong, in a call of play.
func judged(t *testing.T, wrong func(call int, steps []number) bool) Result {
	return runOne(t.Context(), newRun(t, "http://127.0.0.1:1", 0).cfg, specOf(func(s *T) {
		var plan []number
		for n := range 10 {
			plan = append(plan, number(n))
		}
		call := 0
		JudgePlan(s, plan, 100, func(steps []number) *Mismatch {
			call++
			for i := range steps {
				if wrong(call, steps[:i+1]) {
					return &Mismatch{Step: i, Clauses: []string{"RPC-ENV-02"}, Expected: "one", Actual: "two"}
				}
			}
			return nil
		})
	}), 1)
}

// A wrong answer fails the spec with the clause, and with the steps that are needed for it. One
// that does not come again decides nothing.
func TestJudgePlan(t *testing.T) {
	seven := func(_ int, steps []number) bool {
		return steps[len(steps)-1] == 7 && slices.Contains(steps, 3)
	}
	r := judged(t, seven)
	if r.Outcome != clauses.Failed || !strings.Contains(r.Message,
		"RPC-ENV-02: expected one; got two; 2 of the 10 steps of the plan show it:\n  1. say 3\n! 2. say 7") {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
	if r = judged(t, func(int, []number) bool { return false }); r.Outcome != clauses.OK {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
	if r = judged(t, func(call int, steps []number) bool {
		return call == 1 && seven(call, steps)
	}); r.Outcome != clauses.Inconclusive || !strings.Contains(r.Message, "not when it was done again") {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
}
