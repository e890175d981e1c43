package app

import (
	"fmt"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Shard is one of several equal parts of the chosen clauses, so that several machines share a run.
// The zero value is all of them.
type Shard struct {
	// Index is from 1 to Count.
	Index, Count int
}

// ParseShard reads a text such as 2/3; empty is all.
func ParseShard(text string) (s Shard, err error) {
	if text == "" {
		return s, nil
	}
	var rest string
	n, _ := fmt.Sscanf(text, "%d/%d%s", &s.Index, &s.Count, &rest)
	if n != 2 || s.Count < 1 || s.Index < 1 || s.Index > s.Count {
		return s, Mistake("shard is %q: give its number and how many there are, such as 2/3", text)
	}
	return s, nil
}

// keep leaves only the clauses of this shard chosen. Neighbours of the catalogue go to different
// shards, because clauses of one operation take about as long as each other.
func (s Shard) keep(catalogue *clauses.Catalogue, chosen map[string]bool) {
	if s.Count == 0 {
		return
	}
	at := 0
	for _, c := range catalogue.Clauses {
		if chosen[c.ID] {
			chosen[c.ID] = at%s.Count == s.Index-1
			at++
		}
	}
}
