package speculate

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// signedBid is a bid that the relay has signed, in both encodings (see relay.SignedBid).
type signedBid struct {
	fork      eth.Fork
	root      phase0.Root // of the bid's message
	ssz, json []byte
}

// sign signs the bid of a block. It returns nil if that is not worth while, or if the builder's
// signature is wrong.
func (b *Body) sign(block *wire.Block) *signedBid {
	if b.ahead.verification != nil && b.ahead.verification.do().Err != nil {
		return nil
	}
	transactions := b.ahead.root.do()
	if transactions.err != nil { // reported when the whole body is here
		return nil
	}
	s := block.Submission(transactions.payload)
	if s == nil {
		return nil
	}
	s.Cancellable, s.Identified = b.source.Cancellable, b.source.Owns != nil
	return b.speculator.sign(s, transactions.root)
}

// sign signs the bid of a submission without proofs and blobs, unless it would not lead at once or
// another one is being signed.
func (s *Speculator) sign(block *relay.Submission, transactions phase0.Root) *signedBid {
	if !s.Auction.WorthSigning(block) || !s.signing.TryLock() {
		return nil
	}
	defer s.signing.Unlock()
	header, err := payload.HeaderWith(block.Fork, block.Payload, transactions)
	if err != nil { // reported when the whole body is here, like all errors below
		return nil
	}
	message := wire.Bid{
		Fork: block.Fork, Header: header, Commitments: block.Blobs.Commitments, Requests: block.Requests,
		ValueWei: block.Trace.Value, Relay: s.Key.PublicKey(),
	}
	root, err := message.Root()
	if err != nil {
		return nil
	}
	ssz, json, err := message.Encode(s.Key.Sign(eth.SigningRoot(root, s.Spec.BuilderDomain())))
	if err != nil {
		return nil
	}
	return &signedBid{message.Fork, root, ssz, json}
}
