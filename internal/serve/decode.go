package serve

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Decoders are reused, because making one takes longer than decoding a small body. The garbage
// collector may free unused ones. There are never more of them than bodies at one time have been
// charged for.
var (
	gzipDecoders sync.Pool // of *gzipDecoder
	// zstdDecoders are kept by the size of their window, in powers of two, so that each body is
	// charged for what its decoder holds.
	zstdDecoders [zstdWindowBits + 1]sync.Pool // of *zstdDecoder
)

// zstdWindow bounds the window of a zstd stream in bytes. A decoder gets the window that the first
// frame needs, and never more than this.
const (
	zstdWindowBits = 23
	zstdWindow     = 1 << zstdWindowBits
)

// gzipBytes and zstdBytes are how much memory decoders need beside the body, zstd's also beside its
// window. gzipInput is how much compressed data is read at once.
const (
	gzipInput = 32 << 10
	gzipBytes = 48<<10 + gzipInput
	zstdBytes = 512 << 10
)

// decoderBytes is how much memory decompression needs beside the body.
func decoderBytes(encoding string, window int64) int64 {
	switch encoding {
	case "gzip":
		return gzipBytes
	case "zstd":
		return zstdBytes + window
	}
	return 0
}

// decompress returns a reader of the decompressed data. It must be closed once, and not be used
// afterwards.
func decompress(from io.Reader, encoding string, window int64) (io.ReadCloser, error) {
	switch encoding {
	case "gzip":
		return newGzipDecoder(from)
	case "zstd":
		return newZstdDecoder(from, window)
	}
	return io.NopCloser(from), nil
}

type gzipDecoder struct {
	gzip.Reader
	sent *bufio.Reader
}

func newGzipDecoder(from io.Reader) (*gzipDecoder, error) {
	d, _ := gzipDecoders.Get().(*gzipDecoder)
	if d == nil {
		d = &gzipDecoder{sent: bufio.NewReaderSize(nil, gzipInput)}
	}
	d.sent.Reset(from)
	if err := d.Reset(d.sent); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}

// Close implements io.Closer.
func (d *gzipDecoder) Close() error {
	d.sent.Reset(nil)
	gzipDecoders.Put(d)
	return nil
}

type zstdDecoder struct {
	*zstd.Decoder
	kept *sync.Pool
}

func newZstdDecoder(from io.Reader, window int64) (*zstdDecoder, error) {
	kept := &zstdDecoders[windowBits(window)]
	d, _ := kept.Get().(*zstdDecoder)
	if d == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(uint64(window)))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		d = &zstdDecoder{decoder, kept}
	}
	if err := d.Reset(from); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}

// Close implements io.Closer. It hides the method of zstd.Decoder, after which a decoder can't be
// reused.
func (d *zstdDecoder) Close() error {
	if err := d.Reset(nil); err != nil {
		return err
	}
	d.kept.Put(d)
	return nil
}

// windowOf is the size of the window that a zstd stream needs, as its header says, rounded up to a
// power of two; 0 for other encodings. The reader that it returns has the whole stream.
func windowOf(encoding string, from io.Reader) (whole io.Reader, window int64) {
	if encoding != "zstd" {
		return from, 0
	}
	buffered := bufio.NewReader(from)
	begin, _ := buffered.Peek(zstd.HeaderMaxSize) // errors of the stream show when it is read
	var header zstd.Header
	if header.Decode(begin) != nil || header.Skippable {
		return buffered, zstdWindow
	}
	needed := header.WindowSize
	if header.SingleSegment {
		needed = header.FrameContentSize
	}
	return buffered, 1 << windowBits(int64(min(max(needed, zstd.MinWindowSize), zstdWindow)))
}

// windowBits is the exponent of the power of two that a window needs.
func windowBits(window int64) int { return bits.Len64(uint64(window) - 1) }
