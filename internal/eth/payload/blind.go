package payload

// Blind makes blinded beacon blocks from whole ones: a header takes the place of the payload
// (builder-specs, "Blinded blocks"). A block and its blinded form have the same root, and therefore
// the same signature.

import (
	"fmt"

	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Blinded is a blinded block, or a signed one, in one of the library's types.
type Blinded interface {
	MarshalSSZ() ([]byte, error)
	UnmarshalSSZ([]byte) error
	MarshalJSON() ([]byte, error)
	UnmarshalJSON([]byte) error
	HashTreeRoot() ([32]byte, error)
}

// Offer is what a block is blinded with: a payload's header, and the parts of the block that belong
// to the payload. Commitments are used from deneb on, requests from electra on.
type Offer struct {
	Header      *Header
	Commitments []deneb.KZGCommitment
	Requests    *electra.ExecutionRequests
}

// Blind returns a block with an offer in place of its payload and of what belongs to it. The block
// is one of the library's BeaconBlocks. The result shares its lists.
func Blind(block any, offer Offer) (Blinded, error) {
	switch block := block.(type) {
	case *bellatrix.BeaconBlock:
		return ofBellatrix(block, offer), nil
	case *capella.BeaconBlock:
		return ofCapella(block, offer), nil
	case *deneb.BeaconBlock:
		return ofDeneb(block, offer), nil
	case *electra.BeaconBlock:
		return ofElectra(block, offer), nil
	default:
		return nil, fmt.Errorf("a %T cannot be blinded", block)
	}
}

// SignBlinded returns a blinded block together with its signature.
func SignBlinded(block Blinded, signature phase0.BLSSignature) (Blinded, error) {
	switch block := block.(type) {
	case *apibellatrix.BlindedBeaconBlock:
		return &apibellatrix.SignedBlindedBeaconBlock{Message: block, Signature: signature}, nil
	case *apicapella.BlindedBeaconBlock:
		return &apicapella.SignedBlindedBeaconBlock{Message: block, Signature: signature}, nil
	case *apideneb.BlindedBeaconBlock:
		return &apideneb.SignedBlindedBeaconBlock{Message: block, Signature: signature}, nil
	case *apielectra.BlindedBeaconBlock:
		return &apielectra.SignedBlindedBeaconBlock{Message: block, Signature: signature}, nil
	default:
		return nil, fmt.Errorf("%T is no blinded block", block)
	}
}

func ofBellatrix(block *bellatrix.BeaconBlock, offer Offer) *apibellatrix.BlindedBeaconBlock {
	body := block.Body
	return &apibellatrix.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &apibellatrix.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings, AttesterSlashings: body.AttesterSlashings,
			Attestations: body.Attestations, Deposits: body.Deposits, VoluntaryExits: body.VoluntaryExits,
			SyncAggregate: body.SyncAggregate, ExecutionPayloadHeader: HeaderToBellatrix(offer.Header),
		},
	}
}

func ofCapella(block *capella.BeaconBlock, offer Offer) *apicapella.BlindedBeaconBlock {
	body := block.Body
	return &apicapella.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &apicapella.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings, AttesterSlashings: body.AttesterSlashings,
			Attestations: body.Attestations, Deposits: body.Deposits, VoluntaryExits: body.VoluntaryExits,
			SyncAggregate: body.SyncAggregate, ExecutionPayloadHeader: HeaderToCapella(offer.Header),
			BLSToExecutionChanges: body.BLSToExecutionChanges,
		},
	}
}

func ofDeneb(block *deneb.BeaconBlock, offer Offer) *apideneb.BlindedBeaconBlock {
	body := block.Body
	return &apideneb.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &apideneb.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings, AttesterSlashings: body.AttesterSlashings,
			Attestations: body.Attestations, Deposits: body.Deposits, VoluntaryExits: body.VoluntaryExits,
			SyncAggregate: body.SyncAggregate, ExecutionPayloadHeader: offer.Header,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: offer.Commitments,
		},
	}
}

// ofElectra makes a block of electra or of fulu, which have the same type.
func ofElectra(block *electra.BeaconBlock, offer Offer) *apielectra.BlindedBeaconBlock {
	body := block.Body
	return &apielectra.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &apielectra.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings, AttesterSlashings: body.AttesterSlashings,
			Attestations: body.Attestations, Deposits: body.Deposits, VoluntaryExits: body.VoluntaryExits,
			SyncAggregate: body.SyncAggregate, ExecutionPayloadHeader: offer.Header,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: offer.Commitments,
			ExecutionRequests: offer.Requests,
		},
	}
}
