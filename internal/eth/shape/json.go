package shape

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/jsonscan"
)

// deepest is how deep values may be nested: deeper than in any of the types, and small enough for
// the stack.
const deepest = 24

// cursor reads a JSON document.
type cursor struct {
	jsonscan.Scanner
}

func newCursor(body []byte) cursor {
	return cursor{jsonscan.Scanner{Doc: body, MaxDepth: deepest}}
}

// What a value must be, for errors.
const (
	wantObject  = "an object"
	wantList    = "a list"
	wantBytes   = "0x and whole bytes"
	wantDecimal = "a quoted decimal number"
	wantFlag    = "true or false"
	wantText    = "text"
)

// errSpelling means a known name in another letter case, which encoding/json would accept.
var errSpelling = errors.New("written in other letters: names are in lower case")

func (m members[T]) toJSON(to []byte, v *T) []byte {
	for i := range m {
		if i == 0 {
			to = append(to, '{')
		} else {
			to = append(to, ',')
		}
		to = append(append(append(to, '"'), m[i].name...), `":`...)
		to = m[i].part.toJSON(to, v)
	}
	return append(to, '}')
}

func (m members[T]) ofJSON(c *cursor, v *T) error {
	if c.Peek() != '{' {
		return c.Wrong(wantObject)
	}
	var seen uint64
	var others jsonscan.Names
	next := 0
	err := c.Members(func(name []byte) error {
		place := m.find(name, next)
		if place < 0 {
			return m.other(c, &others, name)
		}
		next = place + 1
		if seen&(1<<place) != 0 {
			return fmt.Errorf("%s comes twice", name)
		}
		seen |= 1 << place
		if err := m[place].part.ofJSON(c, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for place := range m {
		if seen&(1<<place) == 0 {
			return fmt.Errorf("no %s", m[place].name)
		}
	}
	return nil
}

// find returns the place of a name, -1 for an unknown one. guess is its most likely place.
func (m members[T]) find(name []byte, guess int) int {
	if guess < len(m) && m[guess].name == string(name) {
		return guess
	}
	for place := range m {
		if m[place].name == string(name) {
			return place
		}
	}
	return -1
}

// other passes the value of an unknown name.
func (m members[T]) other(c *cursor, others *jsonscan.Names, name []byte) error {
	folded := jsonscan.Fold(string(name))
	if m.find([]byte(folded), 0) >= 0 {
		return fmt.Errorf("%.90q: %w", name, errSpelling)
	}
	if err := others.Add(folded); err != nil {
		return err
	}
	_, err := c.Value()
	return err
}

// list reads a list of up to most items, or null.
func (c *cursor) list(most int, item func() error) error {
	switch c.Peek() {
	case 'n':
		if _, err := c.Value(); err != nil {
			return err
		}
		return nil
	case '[':
	default:
		return c.Wrong(wantList)
	}
	return c.ItemsUpTo(most, errTooMany, item)
}

func (c *cursor) boolean() (bool, error) {
	if first := c.Peek(); first != 't' && first != 'f' {
		return false, c.Wrong(wantFlag)
	}
	word, err := c.Value()
	return string(word) == "true", err
}

// decimalText reads a quoted decimal number, without its size being checked.
func (c *cursor) decimalText() (string, error) {
	if c.Peek() != '"' {
		return "", c.Wrong(wantDecimal)
	}
	text, err := c.Text()
	if err != nil {
		return "", err
	}
	bad := len(text) == 0 || len(text) > 78 || text[0] == '0' && len(text) > 1
	for i := 0; !bad && i < len(text); i++ {
		bad = text[i] < '0' || text[i] > '9'
	}
	if bad {
		return "", fmt.Errorf("%.90q: want %s", text, wantDecimal)
	}
	return string(text), nil
}

func (c *cursor) decimal(bits int) (uint64, error) {
	text, err := c.decimalText()
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s: want a decimal number below 2^%d", text, bits)
	}
	return value, nil
}

func (c *cursor) wei() (*uint256.Int, error) {
	text, err := c.decimalText()
	if err != nil {
		return nil, err
	}
	value, err := uint256.FromDecimal(text)
	if err != nil {
		return nil, fmt.Errorf("%s: want a decimal number below 2^256", text)
	}
	return value, nil
}

// digits reads a string of 0x and whole bytes, and returns what follows the 0x. The caller checks
// that these are digits.
func (c *cursor) digits() ([]byte, error) {
	if c.Peek() != '"' {
		return nil, c.Wrong(wantBytes)
	}
	text, err := c.RawText()
	if err != nil {
		return nil, err
	}
	if len(text) < 2 || text[0] != '0' || text[1] != 'x' || len(text)%2 != 0 {
		return nil, fmt.Errorf("%.90q: want %s", text, wantBytes)
	}
	return text[2:], nil
}

func (c *cursor) fixed(into []byte) error {
	digits, err := c.digits()
	if err != nil {
		return err
	}
	if len(digits) != 2*len(into) {
		return errLength(len(digits)/2, len(into))
	}
	return jsonscan.Unhex(into, digits)
}

// bytes reads up to most bytes.
func (c *cursor) bytes(most int) ([]byte, error) {
	digits, err := c.digits()
	if err != nil {
		return nil, err
	}
	if len(digits)/2 > most {
		return nil, tooMany(most)
	}
	into := make([]byte, len(digits)/2)
	return into, jsonscan.Unhex(into, digits)
}

func appendHex(to, raw []byte) []byte {
	return append(hex.AppendEncode(append(to, `"0x`...), raw), '"')
}
