package report

import (
	"fmt"
	"strings"
)

// Combinations is a plan in which each pair of values of several factors occurs (package combine),
// and how much of it was judged.
type Combinations struct {
	// Clauses are those whose specs judged it, and Factors the names of what requests differ in.
	Clauses []string `json:"clauses"`
	Factors []string `json:"factors"`
	// Strength is how many factors are combined: 2, each pair.
	Strength int `json:"strength"`
	// Pairs is how many pairs there are, and Judged how many occurred in answers that were judged.
	Pairs  int `json:"pairs"`
	Judged int `json:"judged"`
	// Cases is how many combinations were judged.
	Cases int `json:"cases"`
}

// String says in words how much was judged.
func (c Combinations) String() string {
	return fmt.Sprintf("%s: %d of %d pairs of %d factors (strength %d) in %d combinations",
		strings.Join(c.Clauses, " "), c.Judged,
		c.Pairs, len(c.Factors), c.Strength, c.Cases)
}
