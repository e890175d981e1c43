package mutant

import "github.com/gavel-relay/gavel/internal/defect"

// Defects are the mutants inside our own services: what they keep to themselves no proxy can change. They have no handler; a program that was
// built with defects switches one on by its id, and judges its own services.
func Defects() []Mutant {
	list := make([]Mutant, len(defect.All))
	for i, d := range defect.All {
		list[i] = Mutant{ID: string(d.ID), Iface: d.Iface, What: d.What, MustKill: d.MustKill}
	}
	return list
}
