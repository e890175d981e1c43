package overlay

import (
	"errors"
	"time"
)

// built says whether this program was built from patched sources. The overlay's copy of this file
// sets it to true.
const built = false

// on has the ids of the mutants that are switched on. It is not written after services have
// started, so it needs no lock.
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

// fork is when the second fork of the services' network begins; zero without one. It is not written
// after services have started.
var fork time.Time

// ForkAt tells the mutants when the second fork begins. It must be called before any service
// starts.
func ForkAt(at time.Time) { fork = at }

// Forked says whether a time is in the second fork.
func Forked(at time.Time) bool { return !fork.IsZero() && !at.Before(fork) }
