package serve

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The ways a body cannot be had. They are wrapped with what was seen.
var (
	ErrTooLarge   = errors.New("body is too large")
	ErrEncoding   = errors.New("unknown content encoding")
	ErrUnreadable = errors.New("body cannot be read")
)

// zstdWindow bounds what a zstd stream may ask us to remember.
const zstdWindow = 8 << 20

// trusted is how much of an announced length gets its memory before a byte has come: who announces much and sends nothing costs no more.
const trusted = 2 << 20

// ReadBody reads a request's body, decompressed, up to a limit in bytes. Memory is bounded by the limit whatever the client sends: a
// decompression bomb ends at the limit. Encodings are identity and those that are named (gzip, zstd). It answers ErrTooLarge, ErrEncoding
// or ErrUnreadable.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, encodings ...string) ([]byte, error) {
	if r.ContentLength > limit { // nothing of ours is larger compressed than plain
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, r.ContentLength, limit)
	}
	sent := http.MaxBytesReader(w, r.Body, limit)
	plain, err := decompress(sent, strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))), encodings)
	if err != nil {
		return nil, err
	}
	defer plain.Close()

	room := min(max(r.ContentLength, 0), trusted) + bytes.MinRead // MinRead: else the last read, which finds the end, makes it grow
	buffer := bytes.NewBuffer(make([]byte, 0, room))
	n, err := buffer.ReadFrom(io.LimitReader(plain, limit+1))
	switch {
	case n > limit || isTooLarge(err):
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return buffer.Bytes(), nil
}

func isTooLarge(err error) bool {
	var tooLarge *http.MaxBytesError
	return errors.As(err, &tooLarge)
}

func decompress(from io.Reader, encoding string, allowed []string) (io.ReadCloser, error) {
	if encoding == "" || encoding == "identity" {
		return io.NopCloser(from), nil
	}
	for _, name := range allowed {
		if name != encoding {
			continue
		}
		switch name {
		case "gzip":
			reader, err := gzip.NewReader(from)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
			return reader, nil
		case "zstd":
			reader, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
			return reader.IOReadCloser(), nil
		}
	}
	return nil, fmt.Errorf("%w %q", ErrEncoding, encoding)
}
