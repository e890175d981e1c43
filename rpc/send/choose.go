package send

import (
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/rpc"
)

// Registry are all builders.
type Registry []Builder

// Choose says who gets an order, in the registry's order: the operator's own builders always, all with AllBuilders, and those that it names. It
// says also how many names nobody is registered under; they are no mistake of the signer's, since registries change.
func (r Registry) Choose(order *rpc.Order) (chosen []Builder, unknown int) {
	for _, b := range r {
		if order.AllBuilders || b.isOwn() || named(order.Builders, b.Name) {
			chosen = append(chosen, b)
		}
	}
	for _, name := range order.Builders {
		known := func(b Builder) bool { return strings.EqualFold(b.Name, name) }
		if !slices.Contains(ownNames, strings.ToLower(name)) && !slices.ContainsFunc(r, known) {
			unknown++
		}
	}
	return chosen, unknown
}

// named says whether a name is among names, in any case.
func named(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
