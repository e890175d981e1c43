package probe

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

// Bid makes the wire form that a relay's bid has in a fork.
func Bid(fork eth.Fork, b *builderelectra.SignedBuilderBid) Document { return forks[fork].bid(b) }

// BidRoot returns the hash tree root of a bid, from which the relay's signing root is made.
func BidRoot(fork eth.Fork, b *builderelectra.BuilderBid) (phase0.Root, error) {
	return root(forks[fork].bidMessage(b))
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
	bid, err := forks[fork].readBid(media, raw)
	if err != nil {
		return nil, fmt.Errorf("read a bid of %s: %w", fork, err)
	}
	return bid, nil
}

func readBellatrixBid(media string, raw []byte) (*builderelectra.SignedBuilderBid, error) {
	b := new(builderbellatrix.SignedBuilderBid)
	if err := decode(media, raw, b); err != nil {
		return nil, err
	}
	m := b.Message
	return &builderelectra.SignedBuilderBid{Signature: b.Signature, Message: &builderelectra.BuilderBid{
		Header: payload.HeaderFromBellatrix(m.Header), Value: m.Value, Pubkey: m.Pubkey,
	}}, nil
}

func readCapellaBid(media string, raw []byte) (*builderelectra.SignedBuilderBid, error) {
	b := new(buildercapella.SignedBuilderBid)
	if err := decode(media, raw, b); err != nil {
		return nil, err
	}
	m := b.Message
	return &builderelectra.SignedBuilderBid{Signature: b.Signature, Message: &builderelectra.BuilderBid{
		Header: payload.HeaderFromCapella(m.Header), Value: m.Value, Pubkey: m.Pubkey,
	}}, nil
}

func readDenebBid(media string, raw []byte) (*builderelectra.SignedBuilderBid, error) {
	b := new(builderdeneb.SignedBuilderBid)
	if err := decode(media, raw, b); err != nil {
		return nil, err
	}
	m := b.Message
	return &builderelectra.SignedBuilderBid{Signature: b.Signature, Message: &builderelectra.BuilderBid{
		Header: m.Header, BlobKZGCommitments: m.BlobKZGCommitments, Value: m.Value, Pubkey: m.Pubkey,
	}}, nil
}

func readNewestBid(media string, raw []byte) (*builderelectra.SignedBuilderBid, error) {
	b := new(builderelectra.SignedBuilderBid)
	return b, decode(media, raw, b)
}
