package builder

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Signer is a builder with stake, which signs its bids itself.
type Signer struct {
	Spec  *eth.Spec
	Index gloas.BuilderIndex
	Key   *bls.SecretKey
}

// Bid returns the signed bid for a block, of a value from the stake and a payment within the
// payload, and what the bid is for.
func (s Signer) Bid(a Attributes, payee bellatrix.ExecutionAddress, built *chain.Built,
	value, payment phase0.Gwei) (*gloas.SignedExecutionPayloadBid, *gloas.BidContents, error) {
	full, requests := payload.JoinGloas(built.Payload, built.Requests, built.Gloas)
	requestsRoot, err := gloas.Mainnet.ExecutionRequests.Root(requests)
	if err != nil {
		return nil, nil, fmt.Errorf("hash requests: %w", err)
	}
	bid := &gloas.ExecutionPayloadBid{
		ParentBlockHash: a.ParentHash, ParentBlockRoot: a.ParentRoot, BlockHash: full.BlockHash, PrevRandao: a.PrevRandao,
		FeeRecipient: payee, GasLimit: full.GasLimit, BuilderIndex: s.Index, Slot: a.Slot, Value: value,
		ExecutionPayment: payment, ExecutionRequestsRoot: requestsRoot,
	}
	contents := &gloas.BidContents{ExecutionPayload: full, ExecutionRequests: requests}
	if built.Blobs != nil {
		bid.BlobKZGCommitments = built.Blobs.Commitments
		contents.KZGProofs, contents.Blobs = built.Blobs.Proofs, built.Blobs.Blobs
	}
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(bid)
	if err != nil {
		return nil, nil, fmt.Errorf("hash bid: %w", err)
	}
	return &gloas.SignedExecutionPayloadBid{
		Message: bid, Signature: s.Key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(s.Spec, a.Slot))),
	}, contents, nil
}
