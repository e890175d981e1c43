// Package form is what blocks, bids and payloads look like on the wire in each fork. The suite
// itself works with one form of each, that of the newest fork; members that an older fork does not
// have are left out on the way to the wire and empty on the way back. Encodings and hashes are a
// library's; what is shared with the services is only how members are copied between the types of
// bellatrix, capella and deneb.
//
//	world ─SSZ─▶ Read… ─▶ form of the newest fork ─▶ spec ─▶ Submission, Blinded ─▶ JSON or SSZ of the world's fork ─▶ target
package form

import (
	"fmt"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Document is something of one fork that has both encodings.
type Document interface {
	MarshalSSZ() ([]byte, error)
	UnmarshalSSZ(raw []byte) error
	MarshalJSON() ([]byte, error)
	UnmarshalJSON(raw []byte) error
}

// rooted is what can be signed or compared as a whole.
type rooted interface {
	HashTreeRoot() ([32]byte, error)
}

func root(of rooted) (phase0.Root, error) {
	root, err := of.HashTreeRoot()
	if err != nil {
		return phase0.Root{}, fmt.Errorf("hash: %w", err)
	}
	return root, nil
}

// decode reads either encoding, as the media type says.
func decode(media string, raw []byte, into Document) error {
	if strings.HasPrefix(media, "application/octet-stream") {
		return into.UnmarshalSSZ(raw)
	}
	return into.UnmarshalJSON(raw)
}

// PayloadRoot is the hash tree root of a payload.
func PayloadRoot(fork eth.Fork, p *deneb.ExecutionPayload) (phase0.Root, error) {
	return root(forks[fork].payload(p))
}

// HeaderRoot is the hash tree root of a payload's header, which is that of the payload.
func HeaderRoot(fork eth.Fork, h *deneb.ExecutionPayloadHeader) (phase0.Root, error) {
	return root(forks[fork].header(h))
}
