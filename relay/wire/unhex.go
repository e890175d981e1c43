package wire

import (
	"encoding/binary"
	"errors"
)

var errDigits = errors.New("not hexadecimal")

// each is a word with one in each of its eight bytes.
const each = 0x0101010101010101

// unhex decodes hexadecimal digits in both cases, twice as many as into has bytes. It takes eight at a time in one word and looks for bad
// digits once, at the end: half of a block in JSON is blobs, and this is where their time goes.
func unhex(into, digits []byte) error {
	if len(digits) != 2*len(into) {
		return errDigits
	}
	good := uint64(0x80 * each)
	for len(into) >= 4 && len(digits) >= 8 {
		word, ok := unhexWord(binary.LittleEndian.Uint64(digits))
		binary.LittleEndian.PutUint32(into, word)
		good &= ok
		into, digits = into[4:], digits[8:]
	}
	if len(into) > 0 {
		last := [8]byte{'0', '0', '0', '0', '0', '0', '0', '0'}
		copy(last[:], digits)
		word, ok := unhexWord(binary.LittleEndian.Uint64(last[:]))
		var bytes [4]byte
		binary.LittleEndian.PutUint32(bytes[:], word)
		copy(into, bytes[:])
		good &= ok
	}
	if good != 0x80*each {
		return errDigits
	}
	return nil
}

// unhexWord decodes the eight digits in a word, the first one in its lowest byte. In good the highest bit of each byte says whether its digit is
// one. A byte beyond ASCII may spill into the next one; its own bit is zero then, which spoils the whole.
func unhexWord(digits uint64) (word uint32, good uint64) {
	const zero, beyondNine, a, beyondF = 0x80 - '0', 0x80 - ('9' + 1), 0x80 - 'a', 0x80 - ('f' + 1)
	lower := digits | 0x20*each
	isNumber := (digits + zero*each) &^ (digits + beyondNine*each)
	isLetter := (lower + a*each) &^ (lower + beyondF*each)
	nibbles := digits&(0xf*each) + 9*(digits>>6&each) // letters have bit 6 and count from 1
	pairs := (nibbles<<4 | nibbles>>8) & 0x00ff00ff00ff00ff
	pairs = (pairs | pairs>>8) & 0x0000ffff0000ffff
	return uint32(pairs | pairs>>16), (isNumber | isLetter) &^ digits // the lower half is the result
}
