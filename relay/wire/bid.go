package wire

import (
	"fmt"

	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	specdeneb "github.com/attestantio/go-eth2-client/spec/deneb"
	specelectra "github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// SignedBid signs a bid with the relay's key under the builder domain and encodes it both ways: the bare SignedBuilderBid in SSZ, and the
// whole {"version","data"} document in JSON (builder-specs, getHeader).
func SignedBid(
	fork eth.Fork, header *payload.Header, commitments []specdeneb.KZGCommitment, requests *specelectra.ExecutionRequests,
	valueWei *uint256.Int, key *bls.SecretKey, domain phase0.Domain,
) (ssz, json []byte, err error) {
	sign := func(message interface{ HashTreeRoot() ([32]byte, error) }) (phase0.BLSSignature, error) {
		root, err := message.HashTreeRoot()
		if err != nil {
			return phase0.BLSSignature{}, fmt.Errorf("hash bid: %w", err)
		}
		return key.Sign(eth.SigningRoot(root, domain)), nil
	}
	if commitments == nil {
		commitments = []specdeneb.KZGCommitment{}
	}
	var bid codec
	switch fork {
	case eth.Bellatrix:
		message := &bellatrix.BuilderBid{Header: payload.HeaderToBellatrix(header), Value: valueWei, Pubkey: key.PublicKey()}
		signed := &bellatrix.SignedBuilderBid{Message: message}
		signed.Signature, err = sign(message)
		bid = signed
	case eth.Capella:
		message := &capella.BuilderBid{Header: payload.HeaderToCapella(header), Value: valueWei, Pubkey: key.PublicKey()}
		signed := &capella.SignedBuilderBid{Message: message}
		signed.Signature, err = sign(message)
		bid = signed
	case eth.Deneb:
		message := &deneb.BuilderBid{Header: header, BlobKZGCommitments: commitments, Value: valueWei, Pubkey: key.PublicKey()}
		signed := &deneb.SignedBuilderBid{Message: message}
		signed.Signature, err = sign(message)
		bid = signed
	case eth.Electra, eth.Fulu:
		message := &electra.BuilderBid{
			Header: header, BlobKZGCommitments: commitments, ExecutionRequests: requestsOf(requests), Value: valueWei, Pubkey: key.PublicKey(),
		}
		signed := &electra.SignedBuilderBid{Message: message}
		signed.Signature, err = sign(message)
		bid = signed
	default:
		err = fmt.Errorf("no bids in %s", fork)
	}
	if err != nil {
		return nil, nil, err
	}
	if ssz, err = bid.MarshalSSZ(); err != nil {
		return nil, nil, err
	}
	data, err := bid.MarshalJSON()
	return ssz, versioned(fork, data), err
}

// versioned is the envelope of JSON answers.
func versioned(fork eth.Fork, data []byte) []byte {
	return fmt.Appendf(nil, `{"version":%q,"data":%s}`, fork.String(), data)
}
