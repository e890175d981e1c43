package pool

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// endedOrder is an ended order that will be forgotten.
type endedOrder struct {
	id, block uint64
}

// forget removes what is not needed any more: orders that ended long ago, cancels, and the indexes
// of old blocks.
func (p *Pool) forget(at time.Time) {
	newest := p.head.Number
	for len(p.ended) > 0 && p.ended[0].block+p.config.KeepFinal+reorgDepth < newest {
		p.forgetOldest()
	}
	for len(p.noted) > 0 && !at.Before(p.noted[0].until) && p.keys[p.noted[0].key].barred+reorgDepth < newest {
		p.forgetCancel()
	}
	for len(p.withdrawals) > 0 && p.withdrawn[p.withdrawals[0]]+reorgDepth < newest {
		delete(p.withdrawn, p.withdrawals[0])
		p.withdrawals = p.withdrawals[1:]
	}
	for block := range p.blocks {
		if block+reorgDepth < newest {
			delete(p.blocks, block)
		}
	}
}

// forgetSurplus bounds the memory when orders end faster than blocks come.
func (p *Pool) forgetSurplus() {
	for len(p.ended) > p.config.MaxOrders {
		p.forgetOldest()
	}
}

func (p *Pool) forgetOldest() {
	oldest := p.ended[0]
	p.ended = p.ended[1:]
	e := p.entries[oldest.id]
	if e == nil || e.alive() || e.end.block != oldest.block {
		return // a reorganisation has made it live again
	}
	delete(p.entries, oldest.id)
	unindexBy(p.byHash, ofOrder(e.order), e)
	if e.account.kept--; e.account.kept == 0 {
		delete(p.accounts, e.order.Signer)
	}
	if e.order.Replacement == uuid.Nil {
		return
	}
	k := keyOf(e.order)
	g := p.keys[k]
	g.versions = removeFrom(g.versions, e)
	if len(g.versions) == 0 {
		g.lastEnd = 0 // as if no version was ever seen, whether or not a cancel keeps the key
	}
	p.forgetEmpty(k, g)
}

// forgetCancel forgets the oldest cancel.
func (p *Pool) forgetCancel() {
	k := p.noted[0].key
	p.noted = p.noted[1:]
	g := p.keys[k]
	g.noted--
	p.forgetEmpty(k, g)
}

func (p *Pool) forgetEmpty(k key, g *generation) {
	if len(g.versions) == 0 && g.noted == 0 {
		delete(p.keys, k)
	}
}

// noteWithdrawal remembers a cancelled private transaction up to a block.
func (p *Pool) noteWithdrawal(tx signed, until uint64) {
	if _, again := p.withdrawn[tx]; !again {
		p.withdrawals = append(p.withdrawals, tx)
	}
	p.withdrawn[tx] = until
	if len(p.withdrawals) > p.config.MaxOrders {
		delete(p.withdrawn, p.withdrawals[0])
		p.withdrawals = p.withdrawals[1:]
	}
}

func (p *Pool) followersOf(id uint64) []*entry { return slices.Clone(p.followers[id]) }

// unindexBy removes an entry from an index, and the key if no entry is left under it.
func unindexBy[K comparable](index map[K][]*entry, name K, e *entry) {
	if left := removeFrom(index[name], e); len(left) > 0 {
		index[name] = left
	} else {
		delete(index, name)
	}
}

// removeFrom removes an entry from a slice that has no other user. It removes the oldest one
// without moving the others: this is the usual case, and one hash may have very many orders.
func removeFrom(all []*entry, e *entry) []*entry {
	switch i := slices.Index(all, e); i {
	case -1:
		return all
	case 0:
		all[0] = nil
		return all[1:]
	default:
		return slices.Delete(all, i, i+1)
	}
}
