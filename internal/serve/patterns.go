package serve

import (
	"cmp"
	"maps"
	"slices"
)

// Patterns are all operations, as "METHOD /path/{wildcard}", in the order of their paths. Tests
// compare them with the documentation.
func (m *Mux) Patterns() []string {
	all := slices.Clone(m.all)
	slices.SortFunc(all, func(a, b *place) int { return cmp.Compare(a.pattern, b.pattern) })
	var list []string
	for _, at := range all {
		for _, method := range slices.Sorted(maps.Keys(at.operations)) {
			list = append(list, method+" "+at.pattern)
		}
	}
	return list
}
