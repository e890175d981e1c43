// Package combine chooses few combinations of many factors, so that each pair of values occurs in
// one of them: a covering array of strength 2. Faults that need two things at a time, such as SSZ
// in gzip, are met by it, and the number of requests stays that of the two largest factors. It is
// pure.
//
//	factors, which combinations are possible ─▶ Pairwise ─▶ Plan: cases, and how many pairs they have
package combine

import "slices"

// Factor is one thing that requests differ in, with its values.
type Factor struct {
	Name   string
	Values []string
}

// Case is one combination: a value of each factor, in the order of factors.
type Case []string

// Plan is a list of cases in which each pair of values occurs that occurs in any possible case.
type Plan struct {
	Factors []Factor
	Cases   []Case
	// Pairs is how many pairs there are.
	Pairs int
}

// pair are the values of two factors, by their places.
type pair struct {
	one, other   int
	here, yonder string
}

// pairs are all pairs of a case.
func (c Case) pairs() (list []pair) {
	for i := range c {
		for j := i + 1; j < len(c); j++ {
			list = append(list, pair{i, j, c[i], c[j]})
		}
	}
	return list
}

// Covered counts the different pairs of values in cases.
func Covered(cases []Case) int {
	seen := map[pair]bool{}
	for _, c := range cases {
		for _, p := range c.pairs() {
			seen[p] = true
		}
	}
	return len(seen)
}

// Pairwise makes a plan. Possible says which combinations exist; nil means all. It looks at every
// combination, so that there should be no more than some ten thousand. The same arguments give the
// same plan.
func Pairwise(factors []Factor, possible func(Case) bool) Plan {
	var all []Case
	each(factors, nil, func(c Case) {
		if possible == nil || possible(c) {
			all = append(all, slices.Clone(c))
		}
	})
	plan := Plan{Factors: factors}
	open := map[pair]bool{}
	for _, c := range all {
		for _, p := range c.pairs() {
			open[p] = true
		}
	}
	plan.Pairs = len(open)
	for len(open) > 0 {
		best, most := Case(nil), 0
		for _, c := range all {
			if n := count(c, open); n > most {
				best, most = c, n
			}
		}
		for _, p := range best.pairs() {
			delete(open, p)
		}
		plan.Cases = append(plan.Cases, best)
	}
	return plan
}

// count returns how many open pairs a case has.
func count(c Case, open map[pair]bool) (n int) {
	for _, p := range c.pairs() {
		if open[p] {
			n++
		}
	}
	return n
}

// each calls do with every combination. The case is only valid during the call.
func each(factors []Factor, begun Case, do func(Case)) {
	if len(begun) == len(factors) {
		do(begun)
		return
	}
	for _, value := range factors[len(begun)].Values {
		each(factors, append(begun, value), do)
	}
}
