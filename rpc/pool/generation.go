package pool

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// generation is what the pool remembers of a key.
type generation struct {
	// live is the live version, nil if there is none; versions are all that are kept, oldest first.
	live     *entry
	versions []*entry
	// lastEnd is the newest block at which a version ended, zero before the first end. displaced is
	// the version whose successor is about to be added.
	lastEnd   uint64
	displaced *entry
	// barred is the last block that orders which come after the cancel do not count for. cancelled
	// is the greatest order ID at the cancel: versions up to it do not become live again.
	barred, cancelled uint64
	// closed is the time before which every order is refused, because the cancel came first. noted
	// counts the remembered cancels; while there are any, the key is kept.
	closed time.Time
	noted  int
}

// notedCancel is a cancel, and when to forget it.
type notedCancel struct {
	key   key
	until time.Time
}

func keyOf(o *rpc.Order) key      { return key{o.Signer, o.Replacement} }
func ofOrder(o *rpc.Order) signed { return signed{o.Signer, o.Hash()} }

func (p *Pool) generation(k key) *generation {
	g := p.keys[k]
	if g == nil {
		g = new(generation)
		p.keys[k] = g
	}
	return g
}

// seen says whether a version is alive, or ended at most keepFinal blocks before this one. It uses
// blocks, and not which versions happen to be kept, so that a replay decides the same.
func (g *generation) seen(block, keepFinal uint64) bool {
	return g.live != nil || g.lastEnd > 0 && g.lastEnd+keepFinal >= block
}

// firstBlock is the first block that a new order counts for, considering its window and cancels.
func (p *Pool) firstBlock(o *rpc.Order) uint64 {
	first := o.Bundle.Window.FirstBlock
	if o.Replacement == uuid.Nil || p.config.ReviveAfterCancel {
		return first
	}
	if g := p.keys[keyOf(o)]; g != nil {
		return max(first, g.barred+1)
	}
	return first
}

// countsFrom is the first block that a new order counts for, considering its leader too.
func (p *Pool) countsFrom(o *rpc.Order) uint64 {
	first := p.firstBlock(o)
	if leader := p.entries[o.Follows]; leader != nil {
		first = max(first, leader.from)
	}
	return first
}

// replaceWith makes a new version the live one.
func (g *generation) replaceWith(e *entry) {
	if g.displaced != nil {
		g.displaced.end.replacedBy = e.order.ID
		g.displaced = nil
	}
	g.versions = append(g.versions, e)
	g.live = e
}

// noteEnded records that a version has ended.
func (g *generation) noteEnded(e *entry) {
	g.lastEnd = max(g.lastEnd, e.end.block)
	switch {
	case g.live == e:
		g.live = nil
		if e.end.reason == rpc.ReplacedByVersion {
			g.displaced = e
		}
	case g.live != nil && e.end.reason == rpc.ReplacedByVersion:
		e.end.replacedBy = g.live.order.ID
	}
}

// note remembers a cancel.
func (p *Pool) note(fact rpc.CancelNoted) {
	k := key{fact.Signer, fact.Replacement}
	g := p.generation(k)
	until := fact.At.Add(p.config.CancelMemory)
	barred := fact.Barred
	if barred == 0 { // an earlier version of the service wrote the fact without it, or no version of the order was seen
		barred = p.barredBy(fact.Signer, fact.Replacement, fact.Block)
	}
	if barred > 0 {
		g.barred = max(g.barred, barred)
	} else {
		g.closed = until
	}
	g.cancelled = p.lastID
	g.noted++
	p.noted = append(p.noted, notedCancel{k, until})
	if len(p.noted) > p.config.MaxOrders {
		p.forgetCancel()
	}
}

// barredBy is the last block that orders which come after a cancel do not count for, if a version
// was seen; 0 if none was. block is the next block.
func (p *Pool) barredBy(signer common.Address, replacement uuid.UUID, block uint64) uint64 {
	g := p.keys[key{signer, replacement}]
	if g == nil || !g.seen(block, p.config.KeepFinal) {
		return 0
	}
	if g.live != nil {
		block = max(block, g.live.from)
	}
	return block
}
