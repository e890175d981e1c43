package submit

import (
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// Blocks returns the blocks of an auction that the relay may bid with, best first: of each builder
// its best final one, and the one that it may still take back. There are none in forks whose
// proposers sign headers, and none after a payload of the slot was delivered.
func (p *Pipeline) Blocks(key relay.Key) []*bid.Offer {
	if p.Spec.ForkAt(key.Slot).HasBlindedBlocks() || p.Slots.Delivered(key.Slot) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var offers []*bid.Offer
	for _, ranked := range p.book(key).Ranked() {
		if made := p.prepared[idOf(&ranked)]; made != nil {
			offers = append(offers, &bid.Offer{
				Builder: ranked.Builder, ParentRoot: made.parentRoot, ParentHash: key.ParentHash, BlockHash: ranked.BlockHash,
				PrevRandao: made.header.PrevRandao, GasLimit: made.header.GasLimit, TargetGasLimit: made.askedGas,
				PaidWei: ranked.ValueWei, FeeRecipient: ranked.FeeRecipient, Commitments: made.commitments,
				RequestsRoot: made.requestsRoot,
			})
		}
	}
	return offers
}
