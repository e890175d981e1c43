package serve

import (
	"maps"
	"slices"
)

// Patterns are all operations, as "METHOD /path/{wildcard}", in order: what a documentation must have.
func (m *Mux) Patterns() []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(m.methods)) {
		for _, method := range slices.Sorted(slices.Values(m.methods[path])) {
			list = append(list, method+" "+path)
		}
	}
	return list
}
