package registry

import (
	"context"
	"slices"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay"
)

// Some clients sign their registrations again in each epoch. Such a renewal has the same content
// with a newer timestamp, and its signature takes 0.3 ms or more to verify. It does not change what
// a proposer is paid, so the answer does not have to wait for it.
const (
	// promptRenewals is how many renewals a request may have that are verified before its answer.
	promptRenewals = 64
	// maxRenewals is how many validators' renewals may wait. Above that, requests wait for the
	// verification of their renewals.
	maxRenewals = 1 << 14
	// renewalsRest is how long Run waits after the first renewal. Operators send their requests
	// together, and those that follow should not compete with verification for the processors.
	renewalsRest = time.Second
)

// renewalQueue has the renewals that Run verifies: of each validator the first that came, and the
// newest of those that came after it. So a forged renewal cannot keep the validator's own out by
// coming before it, nor by a newer timestamp after it; two forged ones together can.
type renewalQueue struct {
	of   map[uint32]queuedOf // by the index of the validator's row
	list []renewal
}

// queuedOf has two indices into the list. newest equals first if there is only one renewal.
type queuedOf struct{ first, newest int32 }

// renewal is an entry and when it came. It holds no pointers, because thousands come at a time and
// the garbage collector would follow each.
type renewal struct {
	atNs         int64 // Unix time
	timestamp    int64 // Unix seconds
	gasLimit     uint64
	rowIndex     uint32
	feeRecipient relay.FeeRecipient
	signature    phase0.BLSSignature
}

// queueRenewals leaves to Run those of a request's candidates that only renew what is held, and
// returns the others.
func (r *Registry) queueRenewals(at time.Time, entries []relay.SignedRegistration,
	candidates []candidate) (others []candidate) {
	for some := range slices.Chunk(candidates, judgedTogether) {
		others = r.queueChunk(at, entries, some, others)
	}
	select {
	case r.wake <- struct{}{}:
	default: // Run knows already
	}
	return others
}

func (r *Registry) queueChunk(at time.Time, entries []relay.SignedRegistration, candidates,
	others []candidate) []candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range candidates {
		entry := &entries[c.entry()]
		if r.table.at(c.row()).compare(entry) != renewed || !r.renewals.add(c.row(), at, entry) {
			others = append(others, c)
		}
	}
	return others
}

// add adds a renewal and says whether there was room for it.
func (w *renewalQueue) add(rowIndex uint32, at time.Time, entry *relay.SignedRegistration) bool {
	message, next := entry.Message, int32(len(w.list)) // at most twice maxRenewals
	n := renewal{at.UnixNano(), message.Timestamp.Unix(), message.GasLimit, rowIndex, message.FeeRecipient,
		entry.Signature}
	of, has := w.of[rowIndex]
	switch {
	case has && of.newest != of.first:
		if n.timestamp > w.list[of.newest].timestamp {
			w.list[of.newest] = n
		}
		return true
	case has:
		of.newest = next
	case len(w.of) >= maxRenewals:
		return false
	case w.of == nil:
		w.of = map[uint32]queuedOf{}
		fallthrough
	default:
		of = queuedOf{next, next}
	}
	w.of[rowIndex] = of
	w.list = append(w.list, n)
	return true
}

// entry returns the renewal as it came; of is the row of its validator.
func (n *renewal) entry(of *row) *relay.SignedRegistration {
	return &relay.SignedRegistration{
		Message: &builderv1.ValidatorRegistration{
			FeeRecipient: n.feeRecipient, GasLimit: n.gasLimit, Timestamp: time.Unix(n.timestamp, 0), Pubkey: of.pubkey,
		},
		Signature: n.signature,
	}
}

// Run verifies renewals, and records changes that wait for the end of their minute, until the
// context ends.
func (r *Registry) Run(ctx context.Context, c clock.Clock) {
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.wake:
				// real time, not chain time, since this wait is about processors
				if (clock.Real{}).Until(ctx, time.Now().Add(renewalsRest)) == nil {
					r.verifyRenewals(ctx)
				}
			}
		}
	})
	for c.Until(ctx, c.Now().Add(changeEvery)) == nil {
		r.recordDue(c.Now())
	}
	renewing.Wait()
}

// verifyRenewals verifies the renewals that wait now: the newest of each validator, and the first
// only if the newest is wrong.
func (r *Registry) verifyRenewals(ctx context.Context) {
	r.mu.Lock()
	taken := r.renewals
	r.renewals = renewalQueue{}
	r.mu.Unlock()

	newest := make([]renewal, 0, len(taken.of))
	for _, of := range taken.of {
		newest = append(newest, taken.list[of.newest])
	}
	var first []renewal
	for _, wrong := range r.verifyAndStore(ctx, newest) {
		if of := taken.of[newest[wrong].rowIndex]; of.first != of.newest {
			first = append(first, taken.list[of.first])
		}
	}
	r.verifyAndStore(ctx, first)
	r.reuseMemory(taken)
}

// reuseMemory lets the next renewals use the memory of those that were verified, unless others have
// come already.
func (r *Registry) reuseMemory(done renewalQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.renewals.of) == 0 {
		clear(done.of)
		r.renewals = renewalQueue{of: done.of, list: done.list[:0]}
	}
}

// verifyAndStore verifies renewals, stores the valid ones and returns the indices of the others.
// Their senders do not learn of it, since their requests were answered before.
func (r *Registry) verifyAndStore(ctx context.Context, list []renewal) (wrong []int) {
	entries := make([]*relay.SignedRegistration, len(list))
	r.mu.RLock()
	for i := range list {
		entries[i] = list[i].entry(r.table.at(list[i].rowIndex))
	}
	r.mu.RUnlock()
	var mu sync.Mutex
	r.verify(ctx, len(list), func(i int) *relay.SignedRegistration { return entries[i] }, func(i int, err error) {
		if err == nil {
			r.keep(time.Unix(0, list[i].atNs), entries[i])
			return
		}
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, i)
	})
	return wrong
}
