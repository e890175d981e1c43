package node

// The folder is among the flags, though nothing is included from it, so that what cgo generates is
// cached for each checkout. With -trimpath it would be shared, and names files of the checkout that
// was built first: linters look for them.

/*
#cgo CFLAGS: -O3 -I${SRCDIR}
#cgo noescape gavel_hex_digits
#cgo nocallback gavel_hex_digits
#include "hexdigits.h"
*/
import "C"

import "encoding/hex"

// worthVectors is how many bytes a value has for which C is called, which takes 50 ns.
const worthVectors = 128

// encode writes the digits of value. into must have room for them. With vectors, for which Go has
// no portable form, 1.5 MB take 0.15 ms. A table of the four digits of two bytes takes 0.39 ms, and
// up to 1 ms if others have displaced it from the caches.
func encode(into, value []byte) {
	if len(value) < worthVectors {
		hex.Encode(into, value)
		return
	}
	_ = into[2*len(value)-1]
	C.gavel_hex_digits((*C.uchar)(&into[0]), (*C.uchar)(&value[0]), C.size_t(len(value)))
}
