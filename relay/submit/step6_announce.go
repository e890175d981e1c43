package submit

import (
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/wire"
)

// announce is announceAs for a change of this instance.
func (p *Pipeline) announce(key relay.Key, outcome auction.Outcome) { p.announceAs(key, outcome, true) }

// announceAs shows the top, if it changed, and records it if the change is of this instance. The
// caller holds the mutex under which it has changed the book, so that tops are shown in the order
// in which they were elected.
func (p *Pipeline) announceAs(key relay.Key, outcome auction.Outcome, own bool) {
	if !outcome.Changed {
		return
	}
	if outcome.Top == nil {
		p.TopBids.Show(key, nil)
		if own {
			p.Facts.Record(relay.TopChanged{At: p.Clock.Now(), Trace: relay.Trace{
				Slot: key.Slot, ParentHash: key.ParentHash, Proposer: key.Proposer, ValueWei: new(uint256.Int),
			}})
		}
		return
	}
	bid := p.prepared[idOf(outcome.Top)]
	p.TopBids.Show(key, bid.sign(key, p.Key, p.Spec.BuilderDomain(), p.notSigned))
	if own {
		p.Facts.Record(relay.TopChanged{At: p.Clock.Now(), Trace: bid.trace})
	}
}

// notSigned reports a bid that leads but cannot be served, because signing it failed.
func (p *Pipeline) notSigned(err error) { p.reportFailure("sign bid", err) }

// sign begins to sign the bid that proposers see, once, unless the relay has signed it while its
// body arrived. The bid leads while it is being signed; a request for it waits for the signature.
func (p *preparedBid) sign(key relay.Key, relayKey *bls.SecretKey, domain phase0.Domain,
	failed func(error)) *relay.SignedBid {
	if p.signed != nil {
		return p.signed
	}
	bid := relay.SignedBid{
		Key: key, Fork: p.fork, BlockHash: p.trace.BlockHash, Builder: p.trace.Builder, ValueWei: p.trace.ValueWei,
		Trace: p.trace, BlockNumber: p.header.BlockNumber, FeeRecipient: p.header.FeeRecipient,
	}
	if !p.fork.HasBlindedBlocks() { // what is signed is a bid for the proposer's terms: see relay/bidder
		p.signed = &bid
		return p.signed
	}
	message, begun := p.message(relayKey), p.signing
	p.signing = nil
	if begun != nil && begun.IsDone() {
		if bid.SSZ, bid.JSON = begun.Bid(&message); bid.SSZ != nil {
			p.signed = &bid
			return p.signed
		}
		begun = nil
	}
	leading := bid
	leading.Signing = sync.OnceValues(func() (*relay.SignedBid, error) {
		whole := bid
		if begun != nil {
			if whole.SSZ, whole.JSON = begun.Bid(&message); whole.SSZ != nil {
				return &whole, nil
			}
		}
		var err error
		if whole.SSZ, whole.JSON, err = wire.SignBid(message, relayKey, domain); err != nil {
			failed(err)
			return nil, err
		}
		return &whole, nil
	})
	p.signed = &leading
	go func() { _, _ = leading.Signing() }() // failed reports the error
	return p.signed
}
