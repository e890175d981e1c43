package jsonscan

import (
	"encoding/binary"
	"errors"
)

// ErrDigits says that a text does not consist of two hexadecimal digits for each byte.
var ErrDigits = errors.New("not hexadecimal")

// hexPairs has the byte of two digits, and noPair if one of the two is no digit. The low byte of
// the index is the first digit. The table has 128 KiB, but digits touch only 4 KiB of it, which
// stay in the fastest cache.
var hexPairs = newHexPairs()

const noPair = 0x100

func newHexPairs() *[1 << 16]uint16 {
	pairs := new([1 << 16]uint16)
	for i := range pairs {
		pairs[i] = noPair
	}
	for first, high := range digitValues {
		for second, low := range digitValues {
			pairs[uint16(first)|uint16(second)<<8] = high<<4 | low
		}
	}
	return pairs
}

// digitValues are the hexadecimal digits in both cases.
var digitValues = func() map[byte]uint16 {
	values := map[byte]uint16{}
	for value := range uint16(16) {
		values["0123456789abcdef"[value]], values["0123456789ABCDEF"[value]] = value, value
	}
	return values
}()

// Unhex decodes hexadecimal digits in both cases, twice as many as into has bytes. It must be fast,
// because half of a block in JSON is blobs. So it looks up two digits at a time, eight in a round,
// and looks for bad digits once, at the end.
func Unhex(into, digits []byte) error {
	if len(digits) != 2*len(into) {
		return ErrDigits
	}
	seen := uint16(0)
	for len(into) >= 4 && len(digits) >= 8 {
		word := binary.LittleEndian.Uint64(digits)
		a, b, c, d := hexPairs[uint16(word)], hexPairs[uint16(word>>16)], hexPairs[uint16(word>>32)],
			hexPairs[uint16(word>>48)]
		seen |= a | b | c | d
		binary.LittleEndian.PutUint32(into, uint32(a&0xff)|uint32(b&0xff)<<8|uint32(c&0xff)<<16|uint32(d)<<24)
		into, digits = into[4:], digits[8:]
	}
	for i := range into {
		pair := hexPairs[binary.LittleEndian.Uint16(digits[2*i:])]
		seen |= pair
		into[i] = byte(pair) // bad digits are refused below
	}
	if seen&noPair != 0 {
		return ErrDigits
	}
	return nil
}
