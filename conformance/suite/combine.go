package suite

import "slices"

// Few combinations of many factors are enough if each pair of values occurs in one of them: a
// covering array of strength 2. Faults that need two things at a time, such as SSZ in gzip, are met
// by it, and the number of requests stays that of the two largest factors. Nothing here asks a
// target: the same factors always give the same combinations.
//
//	factors, which combinations are possible ─▶ Pairwise ─▶ Covering: cases, and how many pairs they have

// Factor is one thing that requests differ in, with its values.
type Factor struct {
	Name   string
	Values []string
}

// Combination has a value of each factor, in the order of factors.
type Combination []string

// Covering is a list of cases in which each pair of values occurs that occurs in any possible case.
type Covering struct {
	Factors []Factor
	Cases   []Combination
	// Pairs is how many pairs there are.
	Pairs int
}

// pair are the values of two factors, by their places.
type pair struct {
	one, other   int
	here, yonder string
}

// pairs are all pairs of a case.
func (c Combination) pairs() (list []pair) {
	for i := range c {
		for j := i + 1; j < len(c); j++ {
			list = append(list, pair{i, j, c[i], c[j]})
		}
	}
	return list
}

// Covered counts the different pairs of values in cases.
func Covered(cases []Combination) int {
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
func Pairwise(factors []Factor, possible func(Combination) bool) Covering {
	var all []Combination
	eachCombination(factors, nil, func(c Combination) {
		if possible == nil || possible(c) {
			all = append(all, slices.Clone(c))
		}
	})
	plan := Covering{Factors: factors}
	open := map[pair]bool{}
	for _, c := range all {
		for _, p := range c.pairs() {
			open[p] = true
		}
	}
	plan.Pairs = len(open)
	for len(open) > 0 {
		best, most := Combination(nil), 0
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
func count(c Combination, open map[pair]bool) (n int) {
	for _, p := range c.pairs() {
		if open[p] {
			n++
		}
	}
	return n
}

// eachCombination calls do with every combination. The case is only valid during the call.
func eachCombination(factors []Factor, begun Combination, do func(Combination)) {
	if len(begun) == len(factors) {
		do(begun)
		return
	}
	for _, value := range factors[len(begun)].Values {
		eachCombination(factors, append(begun, value), do)
	}
}
