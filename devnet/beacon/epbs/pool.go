package epbs

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
)

// Parent names what a bid builds on: a beacon block, and its payload or the one before.
type Parent struct {
	Slot phase0.Slot // the bid's
	Hash phase0.Hash32
	Root phase0.Root
}

// ParentOf returns the parent of a bid.
func ParentOf(bid *gloas.ExecutionPayloadBid) Parent {
	return Parent{bid.Slot, bid.ParentBlockHash, bid.ParentBlockRoot}
}

// Pool has the bids that came over the network and were taken. The zero value is an empty pool.
type Pool struct {
	best map[Parent]*gloas.SignedExecutionPayloadBid
	seen map[Parent]map[gloas.BuilderIndex]bool
}

// Add judges a bid by the rules of the network, and keeps it if it is taken. It fills in what the
// case says of earlier bids.
func (p *Pool) Add(c *check.BidCase) check.Verdict {
	bid := c.Bid.Message
	parent := ParentOf(bid)
	c.Seen = p.seen[parent][bid.BuilderIndex]
	if best := p.best[parent]; best != nil {
		c.Highest = &best.Message.Value
	}
	verdict := c.Judge()
	if verdict.Outcome != check.Taken {
		return verdict
	}
	if p.best == nil {
		p.best, p.seen = map[Parent]*gloas.SignedExecutionPayloadBid{}, map[Parent]map[gloas.BuilderIndex]bool{}
	}
	if p.seen[parent] == nil {
		p.seen[parent] = map[gloas.BuilderIndex]bool{}
	}
	p.seen[parent][bid.BuilderIndex] = true
	p.best[parent] = c.Bid
	return verdict
}

// Best returns the highest bid on a parent; nil if there is none.
func (p *Pool) Best(parent Parent) *gloas.SignedExecutionPayloadBid { return p.best[parent] }

// Forget drops the bids of slots before one.
func (p *Pool) Forget(before phase0.Slot) {
	for parent := range p.seen {
		if parent.Slot < before {
			delete(p.seen, parent)
			delete(p.best, parent)
		}
	}
}
