package probe

import (
	"fmt"

	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// ReadPayload reads the payload that a relay reveals, with its blobs from deneb on.
func ReadPayload(fork eth.Fork, media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error) {
	both, err := forks[fork].readPayload(media, raw)
	if err != nil {
		return nil, fmt.Errorf("read a payload of %s: %w", fork, err)
	}
	return both, nil
}

func readBellatrixPayload(media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error) {
	p := new(bellatrix.ExecutionPayload)
	if err := decode(media, raw, p); err != nil {
		return nil, err
	}
	return &builderfulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: payload.FromBellatrix(p)}, nil
}

func readCapellaPayload(media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error) {
	p := new(capella.ExecutionPayload)
	if err := decode(media, raw, p); err != nil {
		return nil, err
	}
	return &builderfulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: payload.FromCapella(p)}, nil
}

func readPayloadOfOlderBlobs(media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error) {
	older := new(builderdeneb.ExecutionPayloadAndBlobsBundle)
	if err := decode(media, raw, older); err != nil {
		return nil, err
	}
	return &builderfulu.ExecutionPayloadAndBlobsBundle{
		ExecutionPayload: older.ExecutionPayload, BlobsBundle: newerBlobs(older.BlobsBundle),
	}, nil
}

func readNewestPayload(media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error) {
	both := new(builderfulu.ExecutionPayloadAndBlobsBundle)
	return both, decode(media, raw, both)
}

// Payload makes the wire form in which a relay reveals a payload in a fork: with its blobs from
// deneb on.
func Payload(fork eth.Fork, p *builderfulu.ExecutionPayloadAndBlobsBundle) Document {
	switch {
	case fork.HasCellProofs():
		return p
	case fork.HasBlobs():
		return &builderdeneb.ExecutionPayloadAndBlobsBundle{ExecutionPayload: p.ExecutionPayload,
			BlobsBundle: toOlderBlobs(p.BlobsBundle)}
	case fork.Includes(eth.Capella):
		return payload.ToCapella(p.ExecutionPayload)
	default:
		return payload.ToBellatrix(p.ExecutionPayload)
	}
}
