package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"time"
)

// A gzip body that comes at once, as from a proxy on the same machine that has buffered it, is
// decompressed as a whole, which costs less than a stream (docs/speed.md, "Packed bodies"). A body
// that needs longer is decompressed as it comes: most of that is done while the rest is on the way,
// so the operation begins earlier.
const (
	// atOnce is how long a body may take to be decompressed as a whole.
	atOnce = 2 * time.Millisecond
	// wholeLeast and wholeMost are the lengths of such a body in bytes, as sent.
	wholeLeast, wholeMost = 64 << 10, 2 << 20
	// wholeGrowth is how much longer it may be decompressed. The body's own trailer says how long
	// it will be, before anybody knows whether that is true.
	wholeGrowth = 4
)

// A gzip member without optional fields (RFC 1952, section 2.3): ten bytes, the compressed data,
// the checksum of what they decompress to, and its length.
const (
	gzipHeader  = 10
	gzipTrailer = 8
)

// gzipBegin is how such a member begins: two magic bytes, the method, no flags.
var gzipBegin = []byte{0x1f, 0x8b, 8, 0}

// wholePlaces are where bodies wait to be decompressed as a whole: one for each processor, made
// when it is first needed and then kept. So this memory is the process's, and no body is charged
// for it. If all are in use, a body is decompressed as it comes.
var wholePlaces = func() chan *wholePlace {
	n := runtime.GOMAXPROCS(0)
	places := make(chan *wholePlace, n)
	for range n {
		places <- nil
	}
	return places
}()

// wholePlace is the memory for one body as it was sent, and a decoder.
type wholePlace struct {
	sent    []byte
	decoder *inflater
}

// wholeGzip reads a gzip body of an announced length and, if it has come at once, decompresses it
// into the buffer. If it can't, for whatever reason, it returns a reader of the whole body as it
// was sent, and the caller reads the body as a stream, which also finds out what is wrong with it.
// An error is that there is no room for the body. giveBack must be called after the last read.
func (b *buffer) wholeGzip(from io.Reader, announced int64) (rest io.Reader, giveBack func(), err error) {
	giveBack = func() {}
	if announced < wholeLeast || announced > wholeMost {
		return from, giveBack, nil
	}
	var place *wholePlace
	select {
	case place = <-wholePlaces:
	default:
		return from, giveBack, nil
	}
	if place == nil {
		place = &wholePlace{make([]byte, wholeMost), newInflater()}
	}
	giveBack = func() { wholePlaces <- place }
	sent, failed := readAtOnce(from, place.sent[:announced])
	if failed == nil && len(sent) == int(announced) {
		done, err := b.decompressWhole(place.decoder, sent)
		if done || err != nil {
			return nil, giveBack, err
		}
	}
	if failed != nil {
		from = failing{failed}
	}
	return io.MultiReader(bytes.NewReader(sent), from), giveBack, nil
}

// readAtOnce fills the memory until it is full, or the time is over. It returns what has come.
func readAtOnce(from io.Reader, to []byte) (come []byte, err error) {
	began := time.Now()
	n := 0
	for n < len(to) && (n == 0 || time.Since(began) < atOnce) {
		var more int
		more, err = from.Read(to[n:])
		if n += more; err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) && n == len(to) {
		err = nil
	}
	return to[:n], err
}

// decompressWhole decompresses one member, and returns whether the body is that member and all of
// it is right. It charges the body before it allocates it.
func (b *buffer) decompressWhole(decoder *inflater, sent []byte) (done bool, err error) {
	data := sent[gzipHeader : len(sent)-gzipTrailer]
	trailer := sent[len(sent)-gzipTrailer:]
	length := int64(binary.LittleEndian.Uint32(trailer[4:]))
	if !bytes.HasPrefix(sent, gzipBegin) || length > wholeGrowth*int64(len(sent)) || length > b.most-bytes.MinRead {
		return false, nil
	}
	if err := b.taken.take(length + spare); err != nil {
		return false, err
	}
	plain := make([]byte, length, length+spare)
	read, written, err := decoder.Decompress(plain, data)
	if err != nil || read != len(data) || written != len(plain) ||
		crc32.ChecksumIEEE(plain) != binary.LittleEndian.Uint32(trailer) {
		b.taken.giveBack(length + spare)
		return false, nil
	}
	b.bytes = plain
	b.arrived(plain)
	return true, nil
}

// failing is a reader that has failed.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
