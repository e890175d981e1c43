package mutant

import "github.com/gavel-relay/gavel/conformance/mutant/overlay"

// InServices returns the mutants inside our own services. They are needed because a proxy cannot
// change what happens inside a service. They have no handler; a program that was built with them
// switches one on by its id, and judges its own services.
func InServices() []Mutant {
	list := make([]Mutant, len(overlay.All))
	for i, m := range overlay.All {
		list[i] = Mutant{ID: m.ID, Iface: m.Iface, What: m.What, MustKill: m.MustKill}
	}
	return list
}
