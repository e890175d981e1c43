package combine_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/conformance/combine"
)

// Three factors of two values need four cases and no more; their twelve pairs all occur.
func TestPairwise(t *testing.T) {
	factors := []combine.Factor{{"a", []string{"0", "1"}}, {"b", []string{"0", "1"}}, {"c", []string{"0", "1"}}}
	plan := combine.Pairwise(factors, nil)
	if len(plan.Cases) != 4 || plan.Pairs != 12 || combine.Covered(plan.Cases) != 12 {
		t.Errorf("%+v", plan)
	}
	if covered := combine.Covered(plan.Cases[:3]); covered >= 12 {
		t.Errorf("three cases have %d pairs", covered)
	}
	if none := combine.Pairwise(factors, func(combine.Case) bool {
		return false
	}); none.Pairs != 0 || len(none.Cases) != 0 {
		t.Errorf("%+v of nothing", none)
	}
}

// Each pair that occurs in a possible combination is in the plan, each case is possible and brings
// a pair that those before it do not have, and the plan is always the same.
func TestPairwiseCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var factors []combine.Factor
		for i := range rapid.IntRange(2, 5).Draw(t, "factors") {
			f := combine.Factor{Name: fmt.Sprint(i)}
			for j := range rapid.IntRange(1, 4).Draw(t, "values") {
				f.Values = append(f.Values, fmt.Sprint(j))
			}
			factors = append(factors, f)
		}
		// What is impossible: some pairs of values of the first two factors.
		banned := rapid.SliceOfN(rapid.IntRange(0, 15), 0, 8).Draw(t, "banned")
		possible := func(c combine.Case) bool {
			return !slices.ContainsFunc(banned, func(n int) bool { return c[0] == fmt.Sprint(n%4) && c[1] == fmt.Sprint(n/4) })
		}
		plan := combine.Pairwise(factors, possible)
		var all []combine.Case
		every(factors, nil, func(c combine.Case) {
			if possible(c) {
				all = append(all, c)
			}
		})
		if plan.Pairs != combine.Covered(all) || combine.Covered(plan.Cases) != plan.Pairs {
			t.Fatalf("%d pairs, %d in the plan, %d in all", plan.Pairs, combine.Covered(plan.Cases), combine.Covered(all))
		}
		for i, c := range plan.Cases {
			if !possible(c) {
				t.Fatalf("%v is impossible", c)
			}
			if combine.Covered(plan.Cases[:i]) == combine.Covered(plan.Cases[:i+1]) {
				t.Fatalf("%v brings no pair", c)
			}
		}
		if !reflect.DeepEqual(plan, combine.Pairwise(factors, possible)) {
			t.Fatal("another plan the second time")
		}
	})
}

func every(factors []combine.Factor, begun combine.Case, do func(combine.Case)) {
	if len(begun) == len(factors) {
		do(slices.Clone(begun))
		return
	}
	for _, value := range factors[len(begun)].Values {
		every(factors, append(begun, value), do)
	}
}
