package load

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Format is how a submission goes over the wire.
type Format string

// Formats are all formats.
var Formats = []Format{"ssz", "json", "ssz+gzip", "json+gzip"}

func (f Format) isJSON() bool   { return strings.HasPrefix(string(f), "json") }
func (f Format) isPacked() bool { return strings.HasSuffix(string(f), "+gzip") }

// template is the body of a block's submissions, which differ from builder to builder only in a key
// and a signature. What they share is encoded and compressed once. Otherwise the load would cost
// more than the service under it.
//
//	plain:  piece 0 ─ key or signature ─ piece 1 ─ the other one ─ piece 2
//	packed: the same, where each piece is deflated by itself, up to a byte's end
type template struct {
	pieces   [3][]byte
	deflated [3][]byte // nil unless the format is packed
	keyFirst bool
	inHex    bool
}

// Marks stand for key and signature where a template is made. They must not be in a block.
var (
	keyMark = phase0.BLSPubKey(bytes.Repeat([]byte{0xa5, 0x5a, 0x3c}, 16))
	sigMark = phase0.BLSSignature(bytes.Repeat([]byte{0xc3, 0x5a, 0xa5}, 32))
)

// newTemplate makes the template of a block, whose builder and signature are overwritten.
func newTemplate(fork eth.Fork, s *builderfulu.SubmitBlockRequest, format Format) (*template, error) {
	marked, message := *s, *s.Message
	message.BuilderPubkey, marked.Signature, marked.Message = keyMark, sigMark, &message
	document := probe.Submission(fork, &marked)
	encode, key, signature := document.MarshalSSZ, keyMark[:], sigMark[:]
	t := &template{inHex: format.isJSON()}
	if t.inHex {
		encode, key, signature = document.MarshalJSON, hexOf(keyMark[:]), hexOf(sigMark[:])
	}
	raw, err := encode()
	if err != nil {
		return nil, fmt.Errorf("encode a submission as %s: %w", format, err)
	}
	first := place{bytes.Index(raw, key[:searched]), len(key)}
	second := place{bytes.Index(raw, signature[:searched]), len(signature)}
	if first.at < 0 || second.at < 0 {
		return nil, fmt.Errorf("encode a submission as %s: no place for its builder or signature", format)
	}
	if t.keyFirst = first.at < second.at; !t.keyFirst {
		first, second = second, first
	}
	t.pieces = [3][]byte{raw[:first.at], raw[first.at+first.size : second.at], raw[second.at+second.size:]}
	if format.isPacked() {
		for i, piece := range t.pieces {
			t.deflated[i] = deflate(piece, i == len(t.pieces)-1)
		}
	}
	return t, nil
}

// place is where in an encoded submission something stands.
type place struct{ at, size int }

// searched is how much of a mark is searched for: of so much bytes.Index looks at many places at
// once.
const searched = 32

func hexOf(raw []byte) []byte { return hex.AppendEncode(nil, raw) }

// body returns the submission of a builder.
func (t *template) body(key phase0.BLSPubKey, signature phase0.BLSSignature) []byte {
	first, second := key[:], signature[:]
	if !t.keyFirst {
		first, second = second, first
	}
	if t.inHex {
		first, second = hexOf(first), hexOf(second)
	}
	if t.deflated[0] != nil {
		return t.packed(first, second)
	}
	return bytes.Join([][]byte{t.pieces[0], first, t.pieces[1], second, t.pieces[2]}, nil)
}

// gzipHead begins a gzip member without a name or time (RFC 1952).
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// packed returns the submission in gzip. Blocks of deflate that end at a byte can be put behind one
// another; only the checksum is of the whole.
func (t *template) packed(first, second []byte) []byte {
	sum, size := uint32(0), 0
	for _, piece := range [][]byte{t.pieces[0], first, t.pieces[1], second, t.pieces[2]} {
		sum, size = crc32.Update(sum, crc32.IEEETable, piece), size+len(piece)
	}
	tail := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum), uint32(size))
	return bytes.Join([][]byte{gzipHead, t.deflated[0], stored(first), t.deflated[1], stored(second), t.deflated[2], tail},
		nil)
}

// deflate compresses a piece, up to a byte's end; the last one ends the stream.
func deflate(piece []byte, last bool) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestSpeed) // the level is one of the package's
	_, _ = w.Write(piece)                          // a buffer takes all
	if last {
		_ = w.Close()
	} else {
		_ = w.Flush()
	}
	return out.Bytes()
}

// stored is a block of deflate without compression (RFC 1951, 3.2.4), of less than 64 kB.
func stored(raw []byte) []byte {
	size := uint16(len(raw))
	head := []byte{0, byte(size), byte(size >> 8), byte(^size), byte(^size >> 8)}
	return append(head, raw...)
}
