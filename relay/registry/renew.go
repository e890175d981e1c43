package registry

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay"
)

// A client that signs its registrations anew each epoch sends what is held with a newer timestamp and a signature that takes a third of a
// millisecond and more to verify. That cannot change what a proposer is paid, so nobody has to wait for it.
const (
	// promptRenewals is how many of them a request may have that are verified before its answer.
	promptRenewals = 64
	// maxRenewals is how many validators' renewals may wait. When there are more, requests wait for their own again.
	maxRenewals = 1 << 14
)

// renewals are what waits for Run: of each validator the first that came, and the newest of those that came after it. So nobody can keep
// a validator's own renewal out by being first, nor by being newer; not both at a time.
type renewals struct {
	first, newest *renewal
}

// renewal is an entry with the time at which it came.
type renewal struct {
	at    time.Time
	entry relay.SignedRegistration
}

// later puts an entry that only renews what is held among those that Run verifies, and says whether it did.
func (r *Registry) later(at time.Time, entry *relay.SignedRegistration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := entry.Message.Pubkey
	if r.table.find(key).compare(entry) != renewed {
		return false
	}
	waiting, has := r.renewals[key]
	if !has && len(r.renewals) >= maxRenewals {
		return false
	}
	switch {
	case !has:
		waiting.first = copyOf(at, entry)
	case waiting.newest == nil || entry.Message.Timestamp.After(waiting.newest.entry.Message.Timestamp):
		waiting.newest = copyOf(at, entry)
	}
	r.renewals[key] = waiting
	select {
	case r.wake <- struct{}{}:
	default: // Run knows already
	}
	return true
}

func copyOf(at time.Time, entry *relay.SignedRegistration) *renewal {
	message := *entry.Message
	return &renewal{at: at, entry: relay.SignedRegistration{Message: &message, Signature: entry.Signature}}
}

// Run verifies renewals and records changes that wait for that, until the context ends.
func (r *Registry) Run(ctx context.Context, c clock.Clock) {
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.wake:
				r.verifyRenewals(ctx)
			}
		}
	})
	for c.Until(ctx, c.Now().Add(changeEvery)) == nil {
		r.recordDue(c.Now())
	}
	renewing.Wait()
}

// verifyRenewals verifies what waits now: the newest of a validator, and the first only if that one is wrong.
func (r *Registry) verifyRenewals(ctx context.Context) {
	r.mu.Lock()
	taken := r.renewals
	r.renewals = map[phase0.BLSPubKey]renewals{}
	r.mu.Unlock()

	list := make([]*renewal, 0, len(taken))
	for _, waiting := range taken {
		list = append(list, cmp.Or(waiting.newest, waiting.first))
	}
	var again []*renewal
	for _, wrong := range r.settle(ctx, list) {
		if first := taken[wrong.entry.Message.Pubkey].first; first != wrong {
			again = append(again, first)
		}
	}
	r.settle(ctx, again)
}

// settle verifies renewals, keeps the good ones and returns the wrong ones, of which nobody is told.
func (r *Registry) settle(ctx context.Context, list []*renewal) (wrong []*renewal) {
	var mu sync.Mutex
	r.verify(ctx, len(list), func(i int) *relay.SignedRegistration { return &list[i].entry }, func(i int, err error) {
		if err == nil {
			r.keep(list[i].at, &list[i].entry)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, list[i])
	})
	return wrong
}
