package form

import (
	"fmt"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Bid is a relay's bid in the form of a fork.
func Bid(fork eth.Fork, b *builderelectra.SignedBuilderBid) Document {
	switch fork {
	case eth.Bellatrix:
		return &builderbellatrix.SignedBuilderBid{Message: bellatrixBid(b.Message), Signature: b.Signature}
	case eth.Capella:
		return &buildercapella.SignedBuilderBid{Message: capellaBid(b.Message), Signature: b.Signature}
	case eth.Deneb:
		return &builderdeneb.SignedBuilderBid{Message: denebBid(b.Message), Signature: b.Signature}
	default:
		return b
	}
}

// BidRoot is the root that a relay signs.
func BidRoot(fork eth.Fork, b *builderelectra.BuilderBid) (phase0.Root, error) {
	switch fork {
	case eth.Bellatrix:
		return root(bellatrixBid(b))
	case eth.Capella:
		return root(capellaBid(b))
	case eth.Deneb:
		return root(denebBid(b))
	default:
		return root(b)
	}
}

func bellatrixBid(b *builderelectra.BuilderBid) *builderbellatrix.BuilderBid {
	return &builderbellatrix.BuilderBid{Header: payload.HeaderToBellatrix(b.Header), Value: b.Value, Pubkey: b.Pubkey}
}

func capellaBid(b *builderelectra.BuilderBid) *buildercapella.BuilderBid {
	return &buildercapella.BuilderBid{Header: payload.HeaderToCapella(b.Header), Value: b.Value, Pubkey: b.Pubkey}
}

func denebBid(b *builderelectra.BuilderBid) *builderdeneb.BuilderBid {
	return &builderdeneb.BuilderBid{Header: b.Header, BlobKZGCommitments: b.BlobKZGCommitments, Value: b.Value,
		Pubkey: b.Pubkey}
}

// ReadBid reads a relay's bid of a fork.
func ReadBid(fork eth.Fork, media string, raw []byte) (*builderelectra.SignedBuilderBid, error) {
	var signed builderelectra.SignedBuilderBid
	var err error
	switch fork {
	case eth.Bellatrix:
		b := new(builderbellatrix.SignedBuilderBid)
		if err = decode(media, raw, b); err == nil {
			m := b.Message
			signed.Signature = b.Signature
			signed.Message = &builderelectra.BuilderBid{Header: payload.HeaderFromBellatrix(m.Header), Value: m.Value,
				Pubkey: m.Pubkey}
		}
	case eth.Capella:
		b := new(buildercapella.SignedBuilderBid)
		if err = decode(media, raw, b); err == nil {
			m := b.Message
			signed.Signature = b.Signature
			signed.Message = &builderelectra.BuilderBid{Header: payload.HeaderFromCapella(m.Header), Value: m.Value,
				Pubkey: m.Pubkey}
		}
	case eth.Deneb:
		b := new(builderdeneb.SignedBuilderBid)
		if err = decode(media, raw, b); err == nil {
			m := b.Message
			signed.Signature = b.Signature
			signed.Message = &builderelectra.BuilderBid{Header: m.Header, BlobKZGCommitments: m.BlobKZGCommitments,
				Value: m.Value, Pubkey: m.Pubkey}
		}
	default:
		err = decode(media, raw, &signed)
	}
	if err != nil {
		return nil, fmt.Errorf("read a bid of %s: %w", fork, err)
	}
	return &signed, nil
}
