package app

import (
	"fmt"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Shard is one of several equal parts of the chosen clauses or mutants, so that several machines or
// runs share them. The zero value is all of them.
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

// ofAll says in words which part it is.
func (s Shard) ofAll() string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf(" of shard %d/%d", s.Index, s.Count)
}

// keep leaves only the clauses of this shard chosen. Neighbours of the catalogue go to different
// shards, because clauses of one operation take about as long as each other.
func (s Shard) keep(catalogue *clauses.Catalogue, chosen map[string]bool) {
	var list []string
	for _, c := range catalogue.Clauses {
		if chosen[c.ID] {
			list = append(list, c.ID)
		}
	}
	clear(chosen)
	for _, id := range ofShard(s, list) {
		chosen[id] = true
	}
}

// ofShard returns the items of a list that are in a shard. Neighbours go to different shards.
func ofShard[T any](s Shard, list []T) (kept []T) {
	if s.Count == 0 {
		return list
	}
	for i := s.Index - 1; i < len(list); i += s.Count {
		kept = append(kept, list[i])
	}
	return kept
}
