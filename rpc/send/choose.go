package send

import (
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/rpc"
)

// Registry are all builders.
type Registry []Builder

// Choose says who gets an order, in the registry's order: the operator's own builders always, all
// with AllBuilders, and those that it names.
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

// countUnknown says how many of an order's names nobody is registered under. They are no mistake of
// the signer's, since registries change.
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

// containsName says whether a name is among names, in any case.
func containsName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
