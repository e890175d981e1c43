package app

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// killSwitch stops the serving of headers. Payloads of headers that were served before are still
// delivered. The switch outlives a restart.
type killSwitch struct {
	on    atomic.Bool
	facts relay.Facts
	mu    sync.Mutex // guards the order of changes
}

func (k *killSwitch) restore(on bool) { k.on.Store(on) }

// On says whether no headers are served.
func (k *killSwitch) On() bool { return k.on.Load() }

// Set turns the switch. A change is a fact; if the switch is in that position already, nothing is
// recorded.
func (k *killSwitch) Set(at time.Time, on bool, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on.Swap(on) != on {
		k.facts.Record(relay.KillSwitchChanged{At: at, On: on, Why: why})
	}
}

// adopt turns the switch as another instance has recorded it, if counts says so. counts is called
// under the lock under which changes of this instance are recorded.
func (k *killSwitch) adopt(on bool, counts func() bool) (applied bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if applied = counts(); applied {
		k.on.Store(on)
	}
	return applied
}
