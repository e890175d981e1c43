package bundle

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/jsonscan"
)

// Number is a whole number below 2^64: a JSON number, hex text with 0x, decimal text; null and "0x"
// are absent.
type Number struct {
	Value uint64
	// Set says that the request has one.
	Set bool
}

var errNumber = errors.New("want a whole number from 0 to 2^64-1, as a number, 0x-hex or decimal text")

// Read implements Field.
func (n *Number) Read(raw []byte) error {
	digits, absent, err := numeral(raw)
	if err != nil || absent {
		*n = Number{}
		return explain(err, errNumber)
	}
	value, err := parseUint(digits)
	if err != nil {
		return errNumber
	}
	*n = Number{Value: value, Set: true}
	return nil
}

// explain replaces an error by one that says more.
func explain(err, better error) error {
	if err == nil {
		return nil
	}
	return better
}

// maxNumeral bounds the text of a number, in bytes. It is more than 2^256 needs in any form, and
// refuses a megabyte of zeros.
const maxNumeral = 128

// errNumeral says that a value is not a number in any form. Callers replace it by what they want.
var errNumeral = errors.New("want a number")

// numeral returns the text of a number that was written as a JSON number or as a string.
func numeral(raw []byte) (digits string, absent bool, err error) {
	if isNull(raw) {
		return "", true, nil
	}
	if len(raw) > maxNumeral {
		return "", false, errNumeral
	}
	if len(raw) > 0 && raw[0] == '"' {
		text, err := jsonscan.Unquote(raw)
		if err != nil {
			return "", false, err
		}
		digits = string(text)
		return digits, digits == "0x" || digits == "0X", nil
	}
	if len(raw) > 1 && (raw[1] == 'x' || raw[1] == 'X') {
		return "", false, errNumeral
	}
	return string(raw), false, nil
}

// isHex says whether a text begins with 0x or 0X, and returns the text after it.
func isHex(digits string) (rest string, hex bool) {
	if len(digits) >= 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') {
		return digits[2:], true
	}
	return digits, false
}

func parseUint(digits string) (uint64, error) {
	rest, hex := isHex(digits)
	if hex {
		return strconv.ParseUint(rest, 16, 64)
	}
	return strconv.ParseUint(rest, 10, 64)
}

// BigNumber is a whole number below 2^256, written like a Number; nil if absent.
type BigNumber struct {
	Value *uint256.Int
}

var errBigNumber = errors.New("want a whole number from 0 to 2^256-1, as a number, 0x-hex or decimal text")

// Read implements Field.
func (n *BigNumber) Read(raw []byte) error {
	n.Value = nil
	digits, absent, err := numeral(raw)
	if err != nil || absent {
		return explain(err, errBigNumber)
	}
	if n.Value, err = parseBig(digits); err != nil {
		return errBigNumber
	}
	return nil
}

func parseBig(digits string) (*uint256.Int, error) {
	value := new(uint256.Int)
	rest, hex := isHex(digits)
	if !hex {
		if rest == "" || rest[0] == '+' {
			return nil, errBigNumber
		}
		return value, value.SetFromDecimal(rest)
	}
	if rest = strings.TrimLeft(rest, "0"); rest == "" {
		return value, nil
	}
	return value, value.SetFromHex("0x" + rest)
}

// Percent is a whole number of percent, written like a Number; it may be negative. The rules of the
// list that it is in say which values are allowed. Values beyond 32 bits are read as the greatest
// or the least, which no rule allows.
type Percent int

// Read implements Field.
func (p *Percent) Read(raw []byte) error {
	digits, absent, err := numeral(raw)
	switch {
	case err == nil && absent:
		*p = 0
		return nil
	case err != nil:
		return errPercent
	}
	rest, negative := strings.CutPrefix(digits, "-")
	value, err := parseUint(rest)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && value > math.MaxInt32:
		value = math.MaxInt32
	case err != nil:
		return errPercent
	}
	if *p = Percent(value); negative {
		*p = -*p
	}
	return nil
}

var errPercent = errors.New("want a whole number of percent")
