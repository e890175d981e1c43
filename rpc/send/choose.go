package send

import (
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/rpc"
)

// Registry is the list of all builders.
type Registry []Builder

// Choose returns the builders that get an order, in the registry's order: always the operator's
// own, with AllBuilders all, else also those that the order names.
func (r Registry) Choose(order *rpc.Order) []Builder {
	var chosen []Builder
	for _, b := range r {
		if b.gets(order) {
			chosen = append(chosen, b)
		}
	}
	return chosen
}

func (b Builder) gets(order *rpc.Order) bool {
	return order.AllBuilders || b.isOwn() || containsName(order.Builders, b.Name)
}

// countUnknown counts the builder names of an order that are not registered. They are not refused,
// because registries change.
func (r Registry) countUnknown(order *rpc.Order) int {
	count := 0
	for _, name := range order.Builders {
		called := func(b Builder) bool { return strings.EqualFold(b.Name, name) }
		if !containsName(ownNames, name) && !slices.ContainsFunc(r, called) {
			count++
		}
	}
	return count
}

// containsName says whether a name is among names, ignoring case.
func containsName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
