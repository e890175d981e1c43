package app

import (
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/combine"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// combinationsOf adds up what specs have judged of each plan of combinations. Plans are alike if
// they have the same operations.
func combinationsOf(results []suite.Result) (list []report.Combinations) {
	judged := map[string][]combine.Case{}
	places := map[string]int{}
	for _, r := range results {
		if r.Plan == nil {
			continue
		}
		name := strings.Join(r.Plan.Factors[0].Values, " ")
		at, known := places[name]
		if !known {
			at = len(list)
			places[name] = at
			entry := report.Combinations{Strength: 2, Pairs: r.Plan.Pairs}
			for _, f := range r.Plan.Factors {
				entry.Factors = append(entry.Factors, f.Name)
			}
			list = append(list, entry)
		}
		entry := &list[at]
		if !slices.Contains(entry.Clauses, r.Clause) {
			entry.Clauses = append(entry.Clauses, r.Clause)
			slices.Sort(entry.Clauses)
		}
		for _, c := range r.Judged {
			if !slices.ContainsFunc(judged[name], func(one combine.Case) bool { return slices.Equal(one, c) }) {
				judged[name] = append(judged[name], c)
			}
		}
		entry.Cases, entry.Judged = len(judged[name]), combine.Covered(judged[name])
	}
	return list
}
