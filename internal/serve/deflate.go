package serve

/*
#cgo CFLAGS: -I${SRCDIR}/libdeflate
#include "libdeflate.h"
extern const size_t gavel_decompressor_bytes;
*/
import "C"

import (
	"errors"
	"unsafe"
)

// The reasons why a stream cannot be decompressed.
var (
	errCorrupt         = errors.New("DEFLATE stream is corrupt or cut short")
	errInflatesTooLong = errors.New("DEFLATE stream decompresses to more than there is room for")
)

// inflater decompresses DEFLATE streams (RFC 1951) that are in memory as a whole, in about two
// thirds of the time that decoders of streams in Go take: by libdeflate, whose C source is in the
// folder libdeflate, as published in version 1.14 (MIT licence, libdeflate/COPYING). What is there
// is not edited: libdeflate.sha256 has its checksums, and a test holds them. An inflater has the
// tables of a stream's codes. It can be used again, but by one goroutine at a time.
type inflater struct{ tables []uint64 }

// newInflater makes an inflater.
func newInflater() *inflater {
	const word = 8
	return &inflater{make([]uint64, (int(C.gavel_decompressor_bytes)+word-1)/word)}
}

// Decompress decompresses the stream that from begins with into the memory of to. It returns how
// many bytes the stream has, and how many it decompresses to. The error is errCorrupt or
// errInflatesTooLong.
//
// It refuses nothing that compress/flate reads. Of streams that compress/flate refuses it reads
// some whose code tables are not complete, so a checksum must decide.
func (d *inflater) Decompress(to, from []byte) (read, written int, err error) {
	if len(from) == 0 {
		return 0, 0, errCorrupt
	}
	var sentBytes, plainBytes C.size_t
	switch C.libdeflate_deflate_decompress_ex((*C.struct_libdeflate_decompressor)(unsafe.Pointer(&d.tables[0])),
		unsafe.Pointer(&from[0]), C.size_t(len(from)), unsafe.Pointer(unsafe.SliceData(to)), C.size_t(len(to)),
		&sentBytes, &plainBytes) {
	case C.LIBDEFLATE_SUCCESS:
		return int(sentBytes), int(plainBytes), nil
	case C.LIBDEFLATE_INSUFFICIENT_SPACE:
		return 0, 0, errInflatesTooLong
	}
	return 0, 0, errCorrupt
}
