package wire

import (
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// EncodePayload encodes the answer of submitBlindedBlock v1: the payload, from deneb on with its
// blobs bundle. In JSON it is {"version","data"}.
func EncodePayload(media Media, c *relay.Contents) ([]byte, error) {
	form, err := forms.Of(c.Fork, "payloads")
	if err != nil {
		return nil, err
	}
	raw, err := encode(media, form.revealed(c))
	if err != nil || media == SSZ {
		return raw, err
	}
	return versioned(c.Fork, raw), nil
}

// versioned writes the envelope of JSON answers.
func versioned(fork eth.Fork, data []byte) []byte {
	return fmt.Appendf(nil, `{"version":%q,"data":%s}`, fork.String(), data)
}
