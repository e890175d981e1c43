package node

import (
	"encoding/hex"
	"io"
)

// body is a request as text with gaps, each of which stands for the hexadecimal digits of a value.
// The digits of a block are megabytes. So they are written only while the body is sent, into the
// sender's buffer, and are never in memory as a whole. The values must not be changed until the
// body was sent for the last time.
type body struct {
	text []byte
	gaps []gap
}

// gap is the index in the text at which the digits of a value belong.
type gap struct {
	at    int
	value []byte
}

// size is the length of the body in bytes.
func (b *body) size() int64 {
	size := len(b.text)
	for _, g := range b.gaps {
		size += 2 * len(g.value)
	}
	return int64(size)
}

// reader reads the body from its beginning.
func (b *body) reader() io.ReadCloser { return &bodyReader{body: b} }

type bodyReader struct {
	*body
	at    int    // in the text
	gap   int    // index of the next gap
	value []byte // what is left of the value whose digits are being written
	half  []byte // the second digit of a byte whose first one filled a buffer
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		left := p[n:]
		switch {
		case len(r.half) > 0:
			n += copy(left, r.half)
			r.half = nil
		case len(r.value) > 0 && len(left) == 1:
			digits := hex.AppendEncode(nil, r.value[:1])
			left[0], r.half, r.value = digits[0], digits[1:], r.value[1:]
			n++
		case len(r.value) > 0:
			some := min(len(left)/2, len(r.value))
			encode(left, r.value[:some])
			r.value, n = r.value[some:], n+2*some
		case r.gap < len(r.gaps) && r.at == r.gaps[r.gap].at:
			r.value = r.gaps[r.gap].value
			r.gap++
		case r.at == len(r.text):
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		default:
			end := len(r.text)
			if r.gap < len(r.gaps) {
				end = r.gaps[r.gap].at
			}
			copied := copy(left, r.text[r.at:end])
			r.at, n = r.at+copied, n+copied
		}
	}
	return n, nil
}

// Close implements io.Closer.
func (r *bodyReader) Close() error { return nil }
