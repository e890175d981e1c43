package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The ways a body cannot be had. They are wrapped with what was seen.
var (
	ErrTooLarge   = errors.New("body is too large")
	ErrEncoding   = errors.New("unknown content encoding")
	ErrUnreadable = errors.New("body cannot be read")
	// ErrBusy is no fault of the body: there are too many others. The answer then has a Retry-After header already.
	ErrBusy = errors.New("too many bodies at once")
)

// zstdWindow bounds what a zstd stream may ask us to remember: what its first frame needs, and never more than this.
const zstdWindow = 8 << 20

// trusted is how much of an announced length gets its memory before a byte has come: who announces much and sends nothing costs no more.
const trusted = 2 << 20

// spare is the room behind a body of an announced length: the last read, which finds the end, must not make it grow, and a caller may append a few
// bytes (a trailer) without copying it all.
const spare = 16

// ReadBody reads a request's body, decompressed, up to a limit in bytes. Memory is bounded by the limit whatever the client sends: a
// decompression bomb ends at the limit. Under a BodyBudget the bytes of all bodies together are bounded too. Encodings are identity and
// those that are named (gzip, zstd). It answers ErrTooLarge, ErrEncoding, ErrUnreadable or ErrBusy.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, encodings ...string) ([]byte, error) {
	return ReadBodyAsItComes(w, r, limit, func([]byte) {}, encodings...)
}

// ReadBodyAsItComes is ReadBody for who can begin before the body is whole: arrived is told all that is here, decompressed, each time when there is
// more. These bytes stay as they are, also when the body turns out to be too large or never ends.
func ReadBodyAsItComes(w http.ResponseWriter, r *http.Request, limit int64, arrived func(soFar []byte), encodings ...string) ([]byte, error) {
	if r.ContentLength > limit { // nothing of ours is larger compressed than plain
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, r.ContentLength, limit)
	}
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if !plainEncoding(encoding) && !slices.Contains(encodings, encoding) {
		return nil, fmt.Errorf("%w %q", ErrEncoding, encoding)
	}
	sent, window := windowOf(encoding, http.MaxBytesReader(w, r.Body, limit))
	spent := expenseOf(r)
	if err := spent.begin(r.Context(), firstCost(r.ContentLength, encoding)+window); err != nil {
		w.Header().Set("Retry-After", "1")
		return nil, err
	}
	plain, err := decompress(sent, encoding, window)
	if err != nil {
		return nil, err
	}
	defer plain.Close()

	room := min(max(r.ContentLength, 0), trusted) + spare
	if r.ContentLength < 0 || !plainEncoding(encoding) {
		room += bytes.MinRead
	}
	body, err := readAll(io.LimitReader(plain, limit+1), make([]byte, 0, room), limit+bytes.MinRead, spent, arrived)
	switch {
	case errors.Is(err, ErrBusy):
		w.Header().Set("Retry-After", "1")
		return nil, err
	case int64(len(body)) > limit || isTooLarge(err):
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return body, nil
}

// firstCost is what a body costs at its beginning. How much a compressed one will be nobody knows.
func firstCost(announced int64, encoding string) int64 {
	if announced >= 0 && plainEncoding(encoding) {
		return min(announced, trusted) + bytes.MinRead
	}
	return trusted + bytes.MinRead
}

// readAll reads to the end, into a buffer that doubles up to a capacity which is never needed in full. What is beyond the first cost is
// paid before it is had, the old and the new buffer both, and the old one is given back.
func readAll(from io.Reader, buffer []byte, most int64, spent *expense, arrived func([]byte)) ([]byte, error) {
	for {
		if len(buffer) == cap(buffer) {
			room := min(2*int64(cap(buffer))+bytes.MinRead, most)
			if room > trusted+bytes.MinRead {
				if err := spent.grow(room); err != nil {
					return nil, err
				}
			}
			buffer = append(make([]byte, 0, room), buffer...)
			spent.settle()
		}
		n, err := from.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if n > 0 {
			arrived(buffer)
		}
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return buffer, err
		}
	}
}

func isTooLarge(err error) bool {
	var tooLarge *http.MaxBytesError
	return errors.As(err, &tooLarge)
}

func plainEncoding(encoding string) bool { return encoding == "" || encoding == "identity" }

func decompress(from io.Reader, encoding string, window int64) (io.ReadCloser, error) {
	switch encoding {
	case "gzip":
		reader, err := gzip.NewReader(from)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		return reader, nil
	case "zstd":
		reader, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(uint64(window)))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		return reader.IOReadCloser(), nil
	}
	return io.NopCloser(from), nil
}

// windowOf is how many bytes a compressed stream makes us remember, as its beginning says: 0 unless it is zstd. What it read of the beginning is in
// the reader that it returns.
func windowOf(encoding string, from io.Reader) (whole io.Reader, window int64) {
	if encoding != "zstd" {
		return from, 0
	}
	buffered := bufio.NewReader(from)
	begin, _ := buffered.Peek(zstd.HeaderMaxSize) // what is wrong with the stream shows when it is read
	var header zstd.Header
	if header.Decode(begin) != nil || header.Skippable {
		return buffered, zstdWindow
	}
	if header.SingleSegment {
		return buffered, int64(min(max(header.FrameContentSize, zstd.MinWindowSize), zstdWindow))
	}
	return buffered, int64(min(max(header.WindowSize, zstd.MinWindowSize), zstdWindow))
}
