package lifecycle

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends what the signer has under a replacementUuid, and refuses what comes under it for some
// time. It need not have anything. Builders that have the order are asked to forget it; bids that
// they have already placed stay. It returns when the journal has the cancel. If the journal does
// not ack it in time, it counts until a restart, and the signer's next cancel records it again.
func (l *Lifecycle) Cancel(at time.Time, signer common.Address, replacement uuid.UUID) error {
	_, kept := l.cancel(signer, func() []rpc.Fact {
		_, facts := l.Pool.Cancel(at, signer, replacement)
		return facts
	})
	return kept()
}

// CancelPrivate ends a private transaction, and says whether this signer had one that could be
// ended. It returns when the journal has that.
func (l *Lifecycle) CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) (bool, error) {
	ends, kept := l.cancel(signer, func() []rpc.Fact {
		_, facts := l.Pool.CancelPrivate(at, signer, txHash)
		return facts
	})
	if err := kept(); err != nil {
		return false, err
	}
	return slices.ContainsFunc(ends, func(fact rpc.Fact) bool {
		end, ok := fact.(rpc.OrderEnded)
		return ok && end.Hash == txHash
	}), nil
}

// maxUnackedSigners is for how many signers cancels are recorded again that the journal did not
// ack.
const maxUnackedSigners = 10_000

// cancelling is a cancel that waits for the journal.
type cancelling struct {
	finished chan struct{} // closed when err is known
	err      error
}

// wait waits until the journal has the cancel and those of its signer before it.
func (c *cancelling) wait() error {
	<-c.finished
	return c.err
}

// cancel applies what a signer asks for. It records it together with the signer's earlier cancels
// that the journal did not ack. facts are all of these. kept must be called, once. It also waits
// for cancels of the signer that are still on their way: what they end is ended for this one
// already, and it would say that there is nothing to end of an order that lives on if they are
// lost.
func (l *Lifecycle) cancel(signer common.Address, ask func() []rpc.Fact) (facts []rpc.Fact, kept func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := ask()
	l.withdraw(asked, nil)
	before := func() error { return nil }
	if earlier := l.cancelling[signer]; earlier != nil {
		before = earlier.wait
	}
	facts = append(slices.Clone(l.unackedCancels[signer]), asked...)
	if len(facts) == 0 {
		return nil, before
	}
	this := &cancelling{finished: make(chan struct{})}
	l.cancelling[signer] = this
	wait := waitBoth(before, l.keep(facts))
	return facts, func() error {
		this.err = wait()
		l.finishCancel(signer, this, asked)
		return this.err
	}
}

// finishCancel notes whether the journal has a cancel. The cancels of a signer finish in their
// order, so one that is kept has brought all that was not acked before it.
func (l *Lifecycle) finishCancel(signer common.Address, this *cancelling, asked []rpc.Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(this.finished)
	if l.cancelling[signer] == this {
		delete(l.cancelling, signer)
	}
	if this.err == nil {
		delete(l.unackedCancels, signer)
	} else if before, there := l.unackedCancels[signer]; there || len(l.unackedCancels) < maxUnackedSigners {
		l.unackedCancels[signer] = lastOf(append(slices.Clone(before), asked...), maxUnackedEach)
	}
}

// maxUnackedEach is how many facts of one signer are recorded again: the newest.
const maxUnackedEach = 256

func lastOf(facts []rpc.Fact, n int) []rpc.Fact { return facts[max(0, len(facts)-n):] }

// buildersWith returns the builders that may have an order or an earlier version of it, including
// those that did not answer. The caller holds mu.
func (l *Lifecycle) buildersWith(order *rpc.Order) []string {
	have := append(l.Pool.Builders(order.ID), l.superseded[order.ID]...)
	slices.Sort(have)
	return slices.Compact(have)
}

// withdraw cancels, at the builders that may have them, the orders that have just ended: those that
// the signer no longer wants, and those that followed them. It skips the order but, unless that is
// nil. The caller holds mu, so that no order is sent and no delivery ends between finding out which
// builders have an order and cancelling it there.
func (l *Lifecycle) withdraw(facts []rpc.Fact, but *rpc.Order) {
	for _, fact := range facts {
		end, ok := fact.(rpc.OrderEnded)
		if !ok || but != nil && end.ID == but.ID {
			continue
		}
		if order := l.Pool.Order(end.ID); order != nil { // nil if more orders ended at once than the pool keeps
			l.Sender.Cancel(order, l.buildersWith(order))
		}
	}
}
