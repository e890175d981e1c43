package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/gavel-relay/gavel/rpc"
)

// position is the last row of a page. Rows are ordered by block, and in a block by their sequence
// number in the journal, so that what is appended comes later.
type position struct {
	block, seq uint64
}

// cursorVersion is the first byte of a cursor. It changes when the format of the rest does.
const cursorVersion = 1

// A cursor is the version, eight bytes of the query's hash, the block and the sequence number, in
// base64url.
const cursorSize = 1 + 8 + 8 + 8

var cursorText = base64.RawURLEncoding.Strict()

// cursor writes a position for clients. It is valid for one query only.
func (p position) cursor(query string) string {
	bound := sha256.Sum256([]byte(query))
	raw := append(make([]byte, 0, cursorSize), cursorVersion)
	raw = append(raw, bound[:8]...)
	raw = binary.BigEndian.AppendUint64(raw, p.block)
	raw = binary.BigEndian.AppendUint64(raw, p.seq)
	return cursorText.EncodeToString(raw)
}

// positionOf reads a cursor of a query. Without a cursor it is before the first row. A cursor that
// is malformed or of another query is rpc.InvalidCursor.
func positionOf(cursor, query string) (p position, err error) {
	if cursor == "" {
		return position{}, nil
	}
	raw, err := cursorText.DecodeString(cursor)
	if err != nil || len(raw) != cursorSize || raw[0] != cursorVersion {
		return position{}, rpc.InvalidCursor.With("this service has made no such cursor")
	}
	p = position{block: binary.BigEndian.Uint64(raw[9:]), seq: binary.BigEndian.Uint64(raw[17:])}
	if p.cursor(query) != cursor {
		return position{}, rpc.InvalidCursor.With("it belongs to another query")
	}
	return p, nil
}
