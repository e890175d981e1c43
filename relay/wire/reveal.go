package wire

import (
	"fmt"

	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/fulu"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// EncodePayload is the answer of submitBlindedBlock v1: the payload, from deneb on with its blobs
// bundle; {"version","data"} in JSON.
func EncodePayload(media Media, c *relay.Contents) ([]byte, error) {
	var value codec
	switch c.Fork {
	case eth.Bellatrix:
		value = payload.ToBellatrix(c.Payload)
	case eth.Capella:
		value = payload.ToCapella(c.Payload)
	case eth.Deneb, eth.Electra:
		value = &deneb.ExecutionPayloadAndBlobsBundle{ExecutionPayload: c.Payload, BlobsBundle: toDenebBundle(c.Blobs)}
	case eth.Fulu:
		value = &fulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: c.Payload, BlobsBundle: toFuluBundle(c.Blobs)}
	default:
		return nil, fmt.Errorf("no payloads in %s", c.Fork)
	}
	raw, err := encode(media, value)
	if err != nil || media == SSZ {
		return raw, err
	}
	return versioned(c.Fork, raw), nil
}

// versioned is the envelope of JSON answers.
func versioned(fork eth.Fork, data []byte) []byte {
	return fmt.Appendf(nil, `{"version":%q,"data":%s}`, fork.String(), data)
}
