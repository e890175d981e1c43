package stakedbid

import (
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// submission returns the payload of a bid as a block that is to be executed, if it is the one that
// the bid is for. Its message is made here: the builder has signed the bid, and no message.
func (c *attempt) submission() (*relay.Submission, *relay.Refused) {
	m, p := c.Bid.Message, c.contents.ExecutionPayload
	envelope := &check.EnvelopeCase{
		Spec: c.Spec, Bid: m, Withdrawals: c.attributes.Withdrawals,
		Envelope: &gloas.SignedExecutionPayloadEnvelope{Message: &gloas.ExecutionPayloadEnvelope{
			Payload: p, ExecutionRequests: c.contents.ExecutionRequests, BuilderIndex: m.BuilderIndex,
		}},
	}
	if err := envelope.CheckBy(check.ContentsRules); err != nil {
		return nil, relay.StakedBidContents.With("%v", err)
	}
	// Only the bid is signed. A block that has the hash of the bid is the builder's, whoever sends it.
	if _, err := payload.GloasBlock(p, m.BlobKZGCommitments, m.ParentBlockRoot, c.contents.ExecutionRequests); err != nil {
		return nil, relay.StakedBidContents.With("%v", err)
	}
	root, err := gloas.Mainnet.ExecutionPayload.Root(p)
	if err != nil {
		return nil, relay.Malformed.With("hash payload: %v", err)
	}
	c.signed.PayloadRoot = root
	s := &relay.Submission{
		Fork: c.Spec.ForkAt(m.Slot), ReceivedAt: c.signed.ReceivedAt, From: c.from,
		Trace: &relay.BidTrace{
			Slot: uint64(m.Slot), ParentHash: m.ParentBlockHash, BlockHash: m.BlockHash, BuilderPubkey: c.signed.Builder,
			ProposerPubkey: c.duty.Proposer, ProposerFeeRecipient: m.FeeRecipient, GasLimit: p.GasLimit, GasUsed: p.GasUsed,
			Value: eth.WeiOf(m.ExecutionPayment),
		},
		Blobs: &payload.Blobs{Commitments: m.BlobKZGCommitments, Proofs: c.contents.KZGProofs, Blobs: c.contents.Blobs},
	}
	s.Payload, s.Requests, s.Gloas = payload.SplitGloas(p, c.contents.ExecutionRequests)
	return s, nil
}

// bareTrace is the trace of a bid whose payload is not here.
func (c *attempt) bareTrace() relay.Trace {
	m := c.Bid.Message
	return relay.Trace{
		Slot: m.Slot, ParentHash: m.ParentBlockHash, BlockHash: m.BlockHash, Builder: c.signed.Builder,
		Proposer: c.duty.Proposer, FeeRecipient: m.FeeRecipient, GasLimit: m.GasLimit, ValueWei: bid.WorthWei(m),
		NumBlobs: len(m.BlobKZGCommitments),
	}
}
