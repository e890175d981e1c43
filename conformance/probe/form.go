package probe

// The files of forms (form.go, submission.go, bid.go, blinded.go, answer.go, local.go) encode and
// decode blocks, bids and payloads as each fork has them on the wire. The suite itself works with
// the types of the newest fork. Members that an older fork does not have are left out when
// encoding, and empty after decoding. A library encodes and hashes. The suite shares with the
// services only the code that copies members between the types of bellatrix, capella and deneb.
//
//	world ─SSZ─▶ Read… ─▶ form of the newest fork ─▶ spec ─▶ Submission, Blinded ─▶ JSON or SSZ of the world's fork ─▶ target

import (
	"fmt"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Document is a value of one fork that has both encodings, SSZ and JSON.
type Document interface {
	MarshalSSZ() ([]byte, error)
	UnmarshalSSZ(raw []byte) error
	MarshalJSON() ([]byte, error)
	UnmarshalJSON(raw []byte) error
}

// rooted is a value that has a hash tree root.
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

// decode reads SSZ or JSON, as the media type says.
func decode(media string, raw []byte, into Document) error {
	if strings.HasPrefix(media, "application/octet-stream") {
		return into.UnmarshalSSZ(raw)
	}
	return into.UnmarshalJSON(raw)
}

// PayloadRoot returns the hash tree root of a payload.
func PayloadRoot(fork eth.Fork, p *deneb.ExecutionPayload) (phase0.Root, error) {
	return root(forks[fork].payload(p))
}

// HeaderRoot returns the hash tree root of a payload's header, which equals that of the payload.
func HeaderRoot(fork eth.Fork, h *deneb.ExecutionPayloadHeader) (phase0.Root, error) {
	return root(forks[fork].header(h))
}
