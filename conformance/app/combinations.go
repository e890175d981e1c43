package app

import (
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// combinationsOf adds up what the specs of each clause have judged of their plans: each operation
// has its own.
func combinationsOf(results []suite.Result) (list []report.Combinations) {
	for _, r := range results {
		if r.Plan == nil {
			continue
		}
		at := slices.IndexFunc(list, func(c report.Combinations) bool { return c.Clauses[0] == r.Clause })
		if at < 0 {
			entry := report.Combinations{Clauses: []string{r.Clause}, Strength: 2}
			for _, f := range r.Plan.Factors {
				entry.Factors = append(entry.Factors, f.Name)
			}
			at, list = len(list), append(list, entry)
		}
		entry := &list[at]
		entry.Pairs += r.Plan.Pairs
		entry.Cases += len(r.Judged)
		entry.Judged += suite.Covered(r.Judged)
	}
	slices.SortFunc(list, func(a, b report.Combinations) int { return strings.Compare(a.Clauses[0], b.Clauses[0]) })
	return list
}
