package epbs

import (
	"math"
	"math/bits"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Offer is a bid with the terms on which the proposer compares it (beacon-APIs, BuilderEntry): for
// bids of the network, those of the BuilderConfig itself.
type Offer struct {
	Bid *gloas.SignedExecutionPayloadBid
	// MaxExecutionPayment is how much of a payment within the payload counts.
	MaxExecutionPayment phase0.Gwei
	MinBid              phase0.Gwei
	// Boost is a percentage: 100 compares profit, 0 prefers the own block, and 2^64-1 the bid.
	Boost uint64
	// Pubkeys are the builders whose bids are taken; none means all. Pubkey is the bidder's.
	Pubkeys []phase0.BLSPubKey
	Pubkey  phase0.BLSPubKey
}

// Counted is what the proposer takes a bid to be worth.
func (o *Offer) Counted() phase0.Gwei {
	bid := o.Bid.Message
	within := min(bid.ExecutionPayment, o.MaxExecutionPayment)
	if within > math.MaxUint64-bid.Value {
		return math.MaxUint64
	}
	return bid.Value + within
}

func (o *Offer) acceptable() bool {
	return o.Counted() >= o.MinBid && (len(o.Pubkeys) == 0 || slices.Contains(o.Pubkeys, o.Pubkey))
}

// weight is the offer's place among the others, in 128 bits. A boost of 2^64-1 stands above all
// others.
func (o *Offer) weight() (high, low uint64) {
	if o.Boost == math.MaxUint64 {
		return math.MaxUint64, uint64(o.Counted())
	}
	return bits.Mul64(o.Boost, uint64(o.Counted()))
}

// Choose returns the best offer; nil if the proposer's own block is better, or as good. Without an
// own block (nil) the best acceptable offer counts, whatever its boost.
func Choose(own *phase0.Gwei, offers []*Offer) *Offer {
	var best *Offer
	for _, o := range offers {
		if !o.acceptable() {
			continue
		}
		if best == nil || o.above(best.weight()) {
			best = o
		}
	}
	if best == nil || own == nil {
		return best
	}
	if high, low := bits.Mul64(100, uint64(*own)); best.Boost == 0 || !best.above(high, low) {
		return nil
	}
	return best
}

func (o *Offer) above(high, low uint64) bool {
	ownHigh, ownLow := o.weight()
	return ownHigh > high || ownHigh == high && ownLow > low
}
