package beacon

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Ledger is what the bids of the chain have promised from builders' stakes, and what became of it,
// in Gwei.
type Ledger struct {
	// Promised are the values of bids, without those that are Void: of EMPTY blocks whose proposers
	// have signed two blocks, or that got too few votes.
	Promised phase0.Gwei `json:"promised_gwei"`
	Void     phase0.Gwei `json:"void_gwei"`
	// Withdrawn is in payloads of the chain, Pending is not yet, or is not decided yet.
	Withdrawn phase0.Gwei `json:"withdrawn_gwei"`
	Pending   phase0.Gwei `json:"pending_gwei"`
}

// Right says whether nothing was lost, and nothing was paid twice.
func (l Ledger) Right() bool { return l.Promised == l.Withdrawn+l.Pending }

// Ledger adds up what the chain that ends with the head has promised and paid.
func (b *Beacon) Ledger() (l Ledger, err error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	head, status := b.choice.headNode()
	state, err := b.stateAt(head)
	if err != nil {
		return l, err
	}
	for i := range state.Builders {
		l.Pending += state.Owed(gloas.BuilderIndex(i))
	}
	if status != epbs.Full { // its payload may still come; if not, the next one has the same withdrawals
		l.Pending += state.InPayload()
	}
	full := status == epbs.Full
	for block := head; block.bid != nil; {
		if full {
			l.Withdrawn += block.builders.InPayload()
		}
		if !full && b.choice.equivocates(block.Slot, block.ProposerIndex, block.Root) {
			l.Void += block.bid.Value
		} else {
			l.Promised += block.bid.Value
		}
		parent := b.choice.blocks[block.ParentRoot]
		full = block.onFull(parent)
		block = parent
	}
	l.Promised, l.Void = l.Promised-state.Unvoted, l.Void+state.Unvoted
	return l, nil
}
