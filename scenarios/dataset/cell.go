package dataset

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// The types of cells. A cell that is not Known is null: the archive does not say. Text and Blob are
// null if they are empty.
type (
	// Int is a count, a number of a slot or block, or gas.
	Int struct {
		V     int64
		Known bool
	}
	// Signed is a number that may be negative, such as a delay.
	Signed struct {
		V     int64
		Known bool
	}
	// Time is a moment in microseconds since 1970, UTC.
	Time struct {
		Micros int64
		Known  bool
	}
	// Bool is a flag.
	Bool struct{ V, Known bool }
	// Wei is an amount below 10^38 wei. There are about 1.2×10^26 wei in all.
	Wei struct {
		Hi, Lo uint64
		Known  bool
	}
	// Change is a difference of two amounts, as a two's complement of 128 bits.
	Change struct {
		Hi, Lo uint64
		Known  bool
	}
	// Hash is a hash of 32 bytes.
	Hash struct {
		V     [32]byte
		Known bool
	}
	// Key is a BLS public key.
	Key struct {
		V     [48]byte
		Known bool
	}
	// Address is an address of the execution layer.
	Address struct {
		V     [20]byte
		Known bool
	}
	// Text is a name.
	Text string
	// Blob is a string of bytes, such as a transaction.
	Blob string
)

// maxWei is 10^38-1, the most that DECIMAL(38,0) holds.
const maxWeiHi, maxWeiLo = 0x4b3b4ca85a86c47a, 0x098a223fffffffff

// Why a value is refused.
var (
	errTooMuch  = errors.New("more than 10^38-1 wei, which is more ether than exists")
	errAbove256 = errors.New("not below 2^256")
)

// ParseWei reads a decimal number.
func ParseWei(s string) (Wei, error) {
	if s == "" {
		return Wei{}, errors.New("empty")
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return Wei{}, fmt.Errorf("%q is no decimal number of wei", cut(s))
		}
	}
	digits := strings.TrimLeft(s, "0")
	if len(digits) > 38 {
		if len(digits) > len(two256) || len(digits) == len(two256) && digits >= two256 {
			return Wei{}, errAbove256
		}
		return Wei{}, errTooMuch
	}
	w := Wei{Known: true}
	for _, c := range []byte(digits) {
		high, low := bits.Mul64(w.Lo, 10)
		var carry uint64
		w.Lo, carry = bits.Add64(low, uint64(c-'0'), 0)
		w.Hi = w.Hi*10 + high + carry
	}
	return w, nil
}

// two256 is 2^256.
const two256 = "115792089237316195423570985008687907853269984665640564039457584007913129639936"

// weiOfBytes reads a big-endian number.
func weiOfBytes(big []byte) (Wei, error) {
	for len(big) > 16 {
		if big[0] != 0 {
			return Wei{}, errTooMuch
		}
		big = big[1:]
	}
	w := Wei{Known: true}
	for _, b := range big {
		w.Hi = w.Hi<<8 | w.Lo>>56
		w.Lo = w.Lo<<8 | uint64(b)
	}
	if w.Hi > maxWeiHi || w.Hi == maxWeiHi && w.Lo > maxWeiLo {
		return Wei{}, errTooMuch
	}
	return w, nil
}

var errPlaces = errors.New("not a whole number of wei")

// withoutPlaces is the number before the point of a decimal, whose places must be 0.
func (w Wei) withoutPlaces(places int) (Wei, error) {
	for range places {
		var rest uint64
		w.Hi, rest = w.Hi/10, w.Hi%10
		if w.Lo, rest = bits.Div64(rest, w.Lo, 10); rest != 0 {
			return Wei{}, errPlaces
		}
	}
	return w, nil
}

// String is the decimal number, empty if it is not known.
func (w Wei) String() string {
	if !w.Known {
		return ""
	}
	if w.Hi == 0 {
		return strconv.FormatUint(w.Lo, 10)
	}
	var digits [40]byte
	at := len(digits)
	for hi, lo := w.Hi, w.Lo; hi|lo != 0; {
		var rest uint64
		hi, rest = hi/10, hi%10
		lo, rest = bits.Div64(rest, lo, 10)
		at--
		digits[at] = '0' + byte(rest)
	}
	return string(digits[at:])
}

// Less returns a less b. Both must be known.
func Less(a, b Wei) Change {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(a.Hi, b.Hi, borrow)
	return Change{hi, lo, true}
}

// String is the decimal number, with a minus if it is negative, and empty if it is not known.
func (c Change) String() string {
	if !c.Known || int64(c.Hi) >= 0 {
		return Wei(c).String()
	}
	return "-" + Wei(Less(Wei{}, Wei(c))).String()
}

// parseInt reads a decimal number that is not negative.
func parseInt(s string) (Int, error) {
	if s == "" {
		return Int{}, nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || s[0] == '+' {
		return Int{}, fmt.Errorf("%q is no number from 0 to 2^63-1", cut(s))
	}
	return Int{v, true}, nil
}

// parseSigned reads a decimal number.
func parseSigned(s string) (Signed, error) {
	if s == "" {
		return Signed{}, nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || s[0] == '+' {
		return Signed{}, fmt.Errorf("%q is no number from -2^63 to 2^63-1", cut(s))
	}
	return Signed{v, true}, nil
}

// parseMs reads a time in milliseconds since 1970.
func parseMs(s string) (Time, error) {
	ms, err := parseInt(s)
	if err != nil || !ms.Known {
		return Time{}, err
	}
	return msTime(ms.V)
}

func msTime(ms int64) (Time, error) {
	if ms < 0 || ms > maxMicros/1000 {
		return Time{}, fmt.Errorf("%d is no time in milliseconds since 1970", ms)
	}
	return Time{ms * 1000, true}, nil
}

// maxMicros is the year 9999: later times cannot be shown by the readers of the data set.
var maxMicros = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

func parseBool(s string) (Bool, error) {
	switch s {
	case "":
		return Bool{}, nil
	case "true", "True", "TRUE", "1":
		return Bool{true, true}, nil
	case "false", "False", "FALSE", "0":
		return Bool{false, true}, nil
	}
	return Bool{}, fmt.Errorf("%q is neither true nor false", cut(s))
}

// hexValues has the value of each hexadecimal digit, and 0xff for every other byte.
var hexValues = func() (all [256]byte) {
	for i := range all {
		all[i] = 0xff
	}
	for _, digits := range []string{"0123456789abcdef", "0123456789ABCDEF"} {
		for value, digit := range []byte(digits) {
			all[digit] = byte(value)
		}
	}
	return all
}()

// parseHex fills into with the bytes of 0x… text. Empty text says nothing.
func parseHex[T string | []byte](s T, into []byte) (known bool, err error) {
	if len(s) == 0 {
		return false, nil
	}
	if len(s) != 2+2*len(into) || s[0] != '0' || s[1] != 'x' && s[1] != 'X' {
		return false, fmt.Errorf("%q is not 0x and %d hexadecimal digits", cut(string(s)), 2*len(into))
	}
	wrong := byte(0)
	for i := range into {
		high, low := hexValues[s[2+2*i]], hexValues[s[3+2*i]]
		into[i] = high<<4 | low&0xf
		wrong |= high | low
	}
	if wrong > 0xf {
		return false, fmt.Errorf("%q is not 0x and %d hexadecimal digits", cut(string(s)), 2*len(into))
	}
	return true, nil
}

// parseBlob reads bytes of any number from 0x… text.
func parseBlob(s string) (Blob, error) {
	if s == "" {
		return "", nil
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || !strings.HasPrefix(s, "0x") {
		return "", fmt.Errorf("%q is not 0x and hexadecimal digits of whole bytes", cut(s))
	}
	return Blob(raw), nil
}

// cut shortens text of an archive for a message.
func cut(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// Complete sets a cell to another one of the same type if it is null.
func Complete(into, from any) {
	switch into := into.(type) {
	case *Int:
		if !into.Known {
			*into = *from.(*Int)
		}
	case *Signed:
		if !into.Known {
			*into = *from.(*Signed)
		}
	case *Time:
		if !into.Known {
			*into = *from.(*Time)
		}
	case *Bool:
		if !into.Known {
			*into = *from.(*Bool)
		}
	case *Wei:
		if !into.Known {
			*into = *from.(*Wei)
		}
	case *Change:
		if !into.Known {
			*into = *from.(*Change)
		}
	case *Hash:
		if !into.Known {
			*into = *from.(*Hash)
		}
	case *Key:
		if !into.Known {
			*into = *from.(*Key)
		}
	case *Address:
		if !into.Known {
			*into = *from.(*Address)
		}
	case *Text:
		*into = cmp.Or(*into, *from.(*Text))
	case *Blob:
		*into = cmp.Or(*into, *from.(*Blob))
	default:
		panic(fmt.Sprintf("a cell cannot be a %T", into))
	}
}

// compareCells orders two cells of the same type: null comes first.
func compareCells(a, b any) int {
	switch a := a.(type) {
	case *Int:
		b := b.(*Int)
		return cmp.Or(compareBools(a.Known, b.Known), cmp.Compare(a.V, b.V))
	case *Signed:
		b := b.(*Signed)
		return cmp.Or(compareBools(a.Known, b.Known), cmp.Compare(a.V, b.V))
	case *Time:
		b := b.(*Time)
		return cmp.Or(compareBools(a.Known, b.Known), cmp.Compare(a.Micros, b.Micros))
	case *Bool:
		b := b.(*Bool)
		return cmp.Or(compareBools(a.Known, b.Known), compareBools(a.V, b.V))
	case *Wei:
		b := b.(*Wei)
		return cmp.Or(compareBools(a.Known, b.Known), cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo))
	case *Change:
		b := b.(*Change)
		return cmp.Or(compareBools(a.Known, b.Known), cmp.Compare(int64(a.Hi), int64(b.Hi)), cmp.Compare(a.Lo, b.Lo))
	case *Hash:
		b := b.(*Hash)
		return cmp.Or(compareBools(a.Known, b.Known), bytes.Compare(a.V[:], b.V[:]))
	case *Key:
		b := b.(*Key)
		return cmp.Or(compareBools(a.Known, b.Known), bytes.Compare(a.V[:], b.V[:]))
	case *Address:
		b := b.(*Address)
		return cmp.Or(compareBools(a.Known, b.Known), bytes.Compare(a.V[:], b.V[:]))
	case *Text:
		return cmp.Compare(*a, *b.(*Text))
	case *Blob:
		return cmp.Compare(*a, *b.(*Blob))
	}
	panic(fmt.Sprintf("a cell cannot be a %T", a))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
