package form

import (
	"fmt"

	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// ReadPayload reads what a relay reveals: a payload, and from deneb on its blobs.
func ReadPayload(fork eth.Fork, media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error) {
	both := new(builderfulu.ExecutionPayloadAndBlobsBundle)
	var err error
	switch fork {
	case eth.Bellatrix:
		p := new(bellatrix.ExecutionPayload)
		if err = decode(media, raw, p); err == nil {
			both.ExecutionPayload = payload.FromBellatrix(p)
		}
	case eth.Capella:
		p := new(capella.ExecutionPayload)
		if err = decode(media, raw, p); err == nil {
			both.ExecutionPayload = payload.FromCapella(p)
		}
	case eth.Deneb, eth.Electra:
		older := new(builderdeneb.ExecutionPayloadAndBlobsBundle)
		if err = decode(media, raw, older); err == nil {
			both.ExecutionPayload, both.BlobsBundle = older.ExecutionPayload, newerBlobs(older.BlobsBundle)
		}
	default:
		err = decode(media, raw, both)
	}
	if err != nil {
		return nil, fmt.Errorf("read a payload of %s: %w", fork, err)
	}
	return both, nil
}
