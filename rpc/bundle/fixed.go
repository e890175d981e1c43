package bundle

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/jsonscan"
)

// HashParam is 32 bytes in hex with 0x, in any letter case. It may not be null; where it may be
// absent, use a pointer.
type HashParam common.Hash

// Read implements Field.
func (h *HashParam) Read(raw []byte) error { return readFixed(raw, h[:]) }

// Address is 20 bytes in hex with 0x, in any letter case: the checksum is not verified. It may not
// be null; where it may be absent, use a pointer.
type Address common.Address

// Read implements Field.
func (a *Address) Read(raw []byte) error { return readFixed(raw, a[:]) }

func readFixed(raw, into []byte) error {
	content, err := jsonscan.Unquote(raw)
	if err != nil {
		content = nil
	}
	return parseFixed(string(content), into)
}

// parseFixed also accepts the prefix 0X, as all readers of this package do.
func parseFixed(content string, into []byte) error {
	if digits, large := strings.CutPrefix(content, "0X"); large {
		content = "0x" + digits
	}
	return eth.ParseHex(content, into)
}

// HexBytes are bytes in hex, with or without 0x, in any letter case. The text is neither checked
// nor copied before Bytes is called, so that the size can be checked first. It refers to the
// request's memory.
type HexBytes struct {
	digits []byte
}

var errHex = errors.New("want hexadecimal bytes")

// Read implements Field.
func (h *HexBytes) Read(raw []byte) error {
	if isNull(raw) {
		*h = HexBytes{}
		return nil
	}
	content, err := jsonscan.Unquote(raw)
	if err != nil {
		return errHex
	}
	if len(content) >= 2 && content[0] == '0' && (content[1] == 'x' || content[1] == 'X') {
		content = content[2:]
	}
	h.digits = content
	return nil
}

// Len is the number of bytes.
func (h HexBytes) Len() int { return (len(h.digits) + 1) / 2 }

// Bytes returns the bytes in newly allocated memory. The error says that the text is not hex.
func (h HexBytes) Bytes() ([]byte, error) {
	decoded := make([]byte, hex.DecodedLen(len(h.digits)))
	if _, err := hex.Decode(decoded, h.digits); err != nil {
		return nil, errHex
	}
	return decoded, nil
}

// UUID is an RFC-4122 text in any letter case. Null, "" and the nil UUID all mean unset, the zero
// value: some clients send the nil UUID with every bundle, and if it counted, all bundles of such a
// signer would replace each other.
type UUID uuid.UUID

// Read implements Field.
func (u *UUID) Read(raw []byte) error {
	*u = UUID{}
	if isNull(raw) {
		return nil
	}
	content, err := jsonscan.Unquote(raw)
	if err == nil && len(content) == 0 {
		return nil
	}
	const canonical = 36 // uuid.ParseBytes accepts other forms too, which are not RFC 4122
	parsed, parseErr := uuid.ParseBytes(content)
	if err != nil || parseErr != nil || len(content) != canonical {
		return errors.New("want a UUID like 123e4567-e89b-42d3-a456-426614174000")
	}
	*u = UUID(parsed)
	return nil
}
