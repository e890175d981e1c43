package lifecycle

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends what the signer has under a replacementUuid, and keeps out what comes under it for a
// while. There need not be anything. Builders that have it are told; bids that they have placed
// stay. It answers when the journal has the cancel; one that the journal does not ack in time
// counts until a restart, and the signer's next one brings it again.
func (l *Lifecycle) Cancel(at time.Time, signer common.Address, replacement uuid.UUID) error {
	_, kept := l.cancel(signer, func() []rpc.Fact {
		_, facts := l.Pool.Cancel(at, signer, replacement)
		return facts
	})
	return kept()
}

// CancelPrivate ends a private transaction, and says whether there was one of this signer that
// could be ended. It answers when the journal has that.
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

// maxUnackedSigners is of how many signers cancels are brought again that the journal did not ack.
const maxUnackedSigners = 10_000

// cancel does what a signer asks for, and has it kept together with what it asked for before
// without getting the journal's ack. facts are all of that.
func (l *Lifecycle) cancel(signer common.Address, ask func() []rpc.Fact) (facts []rpc.Fact, kept func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := ask()
	l.withdraw(asked, nil)
	facts = append(slices.Clone(l.unackedCancels[signer]), asked...)
	if len(facts) == 0 {
		return nil, func() error { return nil }
	}
	wait := l.keep(facts)
	return facts, func() error {
		err := wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			delete(l.unackedCancels, signer)
		} else if _, there := l.unackedCancels[signer]; there || len(l.unackedCancels) < maxUnackedSigners {
			l.unackedCancels[signer] = lastOf(facts, maxUnackedEach)
		}
		return err
	}
}

// maxUnackedEach is how many facts of one signer are brought again: the newest.
const maxUnackedEach = 256

func lastOf(facts []rpc.Fact, n int) []rpc.Fact { return facts[max(0, len(facts)-n):] }

// buildersWith are the builders that may have an order, or a version of it before: also who did not
// answer. The caller holds mu.
func (l *Lifecycle) buildersWith(order *rpc.Order) []string {
	have := append(l.Pool.Builders(order.ID), l.superseded[order.ID]...)
	slices.Sort(have)
	return slices.Compact(have)
}

// withdraw keeps the orders that have just ended from builders, and asks those who may have them to
// forget them: what its signer does not want any more, and what followed it. It leaves out one
// order, nil for none. The caller holds mu, so that nothing is sent, and no delivery ends, between
// the look at who has an order and this.
func (l *Lifecycle) withdraw(facts []rpc.Fact, but *rpc.Order) {
	for _, fact := range facts {
		end, ok := fact.(rpc.OrderEnded)
		if !ok || but != nil && end.ID == but.ID {
			continue
		}
		if order := l.Pool.Order(end.ID); order != nil { // else more ended at once than the pool keeps
			l.Sender.Cancel(order, l.buildersWith(order))
		}
	}
}
