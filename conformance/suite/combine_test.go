package suite_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// Three factors of two values need four cases and no more; their twelve pairs all occur.
func TestPairwise(t *testing.T) {
	factors := []suite.Factor{{"a", []string{"0", "1"}}, {"b", []string{"0", "1"}}, {"c", []string{"0", "1"}}}
	plan := suite.Pairwise(factors, nil)
	if len(plan.Cases) != 4 || plan.Pairs != 12 || suite.Covered(plan.Cases) != 12 {
		t.Errorf("%+v", plan)
	}
	if covered := suite.Covered(plan.Cases[:3]); covered >= 12 {
		t.Errorf("three cases have %d pairs", covered)
	}
	if none := suite.Pairwise(factors, func(suite.Combination) bool {
		return false
	}); none.Pairs != 0 || len(none.Cases) != 0 {
		t.Errorf("%+v of nothing", none)
	}
}

// Each pair that occurs in a possible combination is in the plan, each case is possible and brings
// a pair that those before it do not have, and the plan is always the same.
func TestPairwiseCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var factors []suite.Factor
		for i := range rapid.IntRange(2, 5).Draw(t, "factors") {
			f := suite.Factor{Name: fmt.Sprint(i)}
			for j := range rapid.IntRange(1, 4).Draw(t, "values") {
				f.Values = append(f.Values, fmt.Sprint(j))
			}
			factors = append(factors, f)
		}
		// What is impossible: some pairs of values of the first two factors.
		banned := rapid.SliceOfN(rapid.IntRange(0, 15), 0, 8).Draw(t, "banned")
		possible := func(c suite.Combination) bool {
			return !slices.ContainsFunc(banned, func(n int) bool { return c[0] == fmt.Sprint(n%4) && c[1] == fmt.Sprint(n/4) })
		}
		plan := suite.Pairwise(factors, possible)
		var all []suite.Combination
		every(factors, nil, func(c suite.Combination) {
			if possible(c) {
				all = append(all, c)
			}
		})
		if plan.Pairs != suite.Covered(all) || suite.Covered(plan.Cases) != plan.Pairs {
			t.Fatalf("%d pairs, %d in the plan, %d in all", plan.Pairs, suite.Covered(plan.Cases), suite.Covered(all))
		}
		for i, c := range plan.Cases {
			if !possible(c) {
				t.Fatalf("%v is impossible", c)
			}
			if suite.Covered(plan.Cases[:i]) == suite.Covered(plan.Cases[:i+1]) {
				t.Fatalf("%v brings no pair", c)
			}
		}
		if !reflect.DeepEqual(plan, suite.Pairwise(factors, possible)) {
			t.Fatal("another plan the second time")
		}
	})
}

func every(factors []suite.Factor, begun suite.Combination, do func(suite.Combination)) {
	if len(begun) == len(factors) {
		do(slices.Clone(begun))
		return
	}
	for _, value := range factors[len(begun)].Values {
		every(factors, append(begun, value), do)
	}
}
