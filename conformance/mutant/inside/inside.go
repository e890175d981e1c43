// Package inside is the switch of the mutants inside our services. No source of a service has a
// mutant; the patches of conformance/mutant/overlay put them into copies, and a program that is
// built from those asks here which one is on.
//
//	overlay/patches/ID.patch ──go build -overlay──▶ a service with On("ID") ──▶ Switch("ID")
package inside

import "errors"

// built is whether this program was made of patched sources; the overlay's copy of this file says
// so.
const built = false

// on are the mutants that are switched on; nobody writes it once services run.
var on = map[string]bool{}

// On says whether a mutant is switched on.
func On(id string) bool { return on[id] }

// Switch switches mutants on, for the rest of the process. It must be called before any service
// starts. The error is the caller's mistake.
func Switch(ids ...string) error {
	if !built {
		return errors.New("this program has no mutants inside its services: make prove builds one that has")
	}
	for _, id := range ids {
		on[id] = true
	}
	return nil
}
