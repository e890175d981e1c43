package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// The reasons why a body cannot be read. Errors wrap them with details.
var (
	ErrTooLarge   = errors.New("body is too large")
	ErrEncoding   = errors.New("unknown content encoding")
	ErrUnreadable = errors.New("body cannot be read")
	// ErrBusy says that there are too many other bodies. The answer has a Retry-After header then.
	ErrBusy = errors.New("too many bodies at once")
)

// firstBytes is how much memory a body gets before a byte has come, if it announces as much. Each
// time the memory is full it becomes growth times as large, or as large as announced if that is at
// most twice this. So a client that announces much and sends little holds at most eight times what
// has come.
const (
	firstBytes = 64 << 10
	growth     = 4
)

// spare is how much memory is left behind a body of an announced length. So the last read, which
// finds the end, does not make the memory grow, and a caller may append a few bytes without copying
// the body.
const spare = 16

// ReadBody reads a request's body, decompressed, up to a limit in bytes. The limit bounds the
// memory whatever the client sends: a decompression bomb ends there. A BodyBudget also bounds the
// bytes of all bodies together, and how slow a body may be. encodings are those that are allowed
// beside identity (gzip, zstd). The error wraps ErrTooLarge, ErrEncoding, ErrUnreadable or ErrBusy.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, encodings ...string) ([]byte, error) {
	return ReadBodyAsItComes(w, r, limit, func([]byte) {}, encodings...)
}

// ReadBodyAsItComes is ReadBody for callers that begin before the body is complete. It calls
// arrived with the decompressed body so far, each time more has come. These bytes do not change,
// also if the body turns out to be too large or never ends.
func ReadBodyAsItComes(w http.ResponseWriter, r *http.Request, limit int64, arrived func(soFar []byte),
	encodings ...string) ([]byte, error) {
	if r.ContentLength > limit { // no body is larger compressed than plain
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, r.ContentLength, limit)
	}
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if !plainEncoding(encoding) && !slices.Contains(encodings, encoding) {
		return nil, fmt.Errorf("%w %q", ErrEncoding, encoding)
	}
	taken := intakeOf(r)
	body, err := readBody(w, r, limit, taken, encoding, arrived)
	if taken.whole(int64(cap(body))) {
		taken.noteEnd(err)
	} else {
		err = fmt.Errorf("%w: its room was given to another", ErrBusy)
	}
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

// readBody reads and decompresses. It may read a little more than the limit.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, taken *intake, encoding string,
	arrived func([]byte)) ([]byte, error) {
	sent, window := windowOf(encoding, http.MaxBytesReader(w, taken.begin(w, r), limit))
	b := buffer{taken: taken, most: limit + bytes.MinRead, arrived: arrived}
	if b.announced = r.ContentLength; b.announced > 0 && !plainEncoding(encoding) {
		b.announced += b.announced / 8 // an estimate: blobs and transactions shrink little
	}
	if encoding == "gzip" {
		rest, giveBack, err := b.wholeGzip(sent, r.ContentLength)
		defer giveBack()
		if rest == nil || err != nil {
			return b.bytes, err
		}
		sent = rest
	}
	if err := taken.take(decoderBytes(encoding, window)); err != nil {
		return nil, err
	}
	if err := b.grow(); err != nil {
		return nil, err
	}
	plain, err := decompress(sent, encoding, window)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	err = b.readAll(io.LimitReader(plain, limit+1))
	return b.bytes, err
}

// buffer is the memory that a body is read into. It grows as the body comes.
type buffer struct {
	bytes     []byte
	taken     *intake
	announced int64 // expected length in bytes; -1 if unknown
	most      int64
	arrived   func([]byte)
}

// readAll reads to the end.
func (b *buffer) readAll(from io.Reader) error {
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(); err != nil {
				return err
			}
		}
		n, err := from.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if n > 0 {
			b.arrived(b.bytes)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow makes the buffer larger. It charges the new memory to the budget before it allocates it, and
// gives back the charge for the old one afterwards.
func (b *buffer) grow() error {
	had := int64(cap(b.bytes))
	room := int64(firstBytes)
	switch {
	case b.announced >= 0 && had < b.announced+spare:
		if room = max(growth*had, firstBytes); 2*room >= b.announced+spare && had > 0 || room > b.announced+spare {
			room = b.announced + spare
		}
	case had > 0:
		room = 2*had + bytes.MinRead
	}
	room = max(min(room, b.most), had+bytes.MinRead) // the announced length may be wrong
	if err := b.taken.take(room); err != nil {
		return err
	}
	b.bytes = append(make([]byte, 0, room), b.bytes...)
	b.taken.giveBack(had)
	return nil
}

func isTooLarge(err error) bool {
	var tooLarge *http.MaxBytesError
	return errors.As(err, &tooLarge)
}

func plainEncoding(encoding string) bool { return encoding == "" || encoding == "identity" }
