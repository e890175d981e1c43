package proposer

import (
	"errors"
	"fmt"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// blindedBlock is an unsigned blinded block: the local block with a bid's header in place of its
// payload. Its root is that of the full block with the header's payload, so a signature of one is a
// signature of the other.
type blindedBlock struct {
	fork  eth.Fork
	block payload.Blinded
	root  phase0.Root
}

var errBidShape = errors.New("the bid is not in the fork of the slot")

// blindBlock replaces the local block's payload, blob commitments and execution requests by the
// bid's header, commitments and requests.
func blindBlock(local *localBlock, bid *Bid) (*blindedBlock, error) {
	if payload.ForkOf(bid.Versioned) != local.fork || bid.Versioned.IsEmpty() {
		return nil, errBidShape
	}
	offer, err := offerOf(bid.Versioned)
	if err != nil {
		return nil, err
	}
	b := &blindedBlock{fork: local.fork}
	if b.block, err = payload.Blind(local.block, offer); err != nil {
		return nil, err
	}
	if b.root, err = b.block.HashTreeRoot(); err != nil {
		return nil, fmt.Errorf("hash blinded block: %w", err)
	}
	return b, nil
}

// offerOf returns the parts of a bid that go into a block.
func offerOf(bid *builderspec.VersionedSignedBuilderBid) (offer payload.Offer, err error) {
	signed, err := payload.Member[any](bid)
	if err != nil {
		return offer, fmt.Errorf("read bid: %w", err)
	}
	switch signed := signed.(type) {
	case *builderbellatrix.SignedBuilderBid:
		offer.Header = payload.HeaderFromBellatrix(signed.Message.Header)
	case *buildercapella.SignedBuilderBid:
		offer.Header = payload.HeaderFromCapella(signed.Message.Header)
	case *builderdeneb.SignedBuilderBid:
		offer.Header, offer.Commitments = signed.Message.Header, signed.Message.BlobKZGCommitments
	case *builderelectra.SignedBuilderBid:
		offer.Header, offer.Commitments = signed.Message.Header, signed.Message.BlobKZGCommitments
		offer.Requests = signed.Message.ExecutionRequests
	default:
		return offer, fmt.Errorf("read bid: %T has no header", signed)
	}
	return offer, nil
}

// signed returns the blinded block with its signature.
func (b *blindedBlock) signed(signature phase0.BLSSignature) (*api.VersionedSignedBlindedBeaconBlock, error) {
	block, err := payload.SignBlinded(b.block, signature)
	if err != nil {
		return nil, fmt.Errorf("sign blinded block: %w", err)
	}
	signed := new(api.VersionedSignedBlindedBeaconBlock)
	return signed, payload.SetMember(signed, b.fork, block)
}
