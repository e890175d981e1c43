package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// Text reads a string. The result is a part of the document if the string is plain ASCII. Otherwise
// it is a copy as encoding/json makes it, which replaces invalid UTF-8.
func (s *Scanner) Text() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.Fail("string expected")
	}
	from := s.At
	plain, err := s.passText()
	if err != nil {
		return nil, err
	}
	if plain {
		return s.Doc[from+1 : s.At-1], nil
	}
	return decodeText(s.Doc[from:s.At])
}

// RawText reads a string as Unquote does, without checking its characters.
func (s *Scanner) RawText() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.Fail("string expected")
	}
	end := textEnd(s.Doc, s.At)
	if end < 0 {
		return nil, s.Fail("string expected")
	}
	text, err := Unquote(s.Doc[s.At:end])
	if err != nil {
		return nil, s.Fail("string expected")
	}
	s.At = end
	return text, nil
}

// errNoText says that a value is not a string.
var errNoText = errors.New("want a string")

// Unquote is the content of a quoted string: a part of quoted if there are no escapes, else a copy.
// It does not check what is between the quotes; the caller has to know that it is a string's.
func Unquote(quoted []byte) ([]byte, error) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil, errNoText
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	return decodeText(quoted)
}

func decodeText(quoted []byte) ([]byte, error) {
	var text unquoted
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, err
	}
	return text, nil
}

// unquoted takes a text from encoding/json without copying it again. That is safe, because the text
// is either a part of the document or was made for this call.
type unquoted []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *unquoted) UnmarshalText(text []byte) error {
	*u = text
	return nil
}

// passText skips and checks a string. plain says that it is ASCII without escapes.
func (s *Scanner) passText() (plain bool, err error) {
	plain = true
	for s.At++; ; s.At++ {
		s.passPlain()
		if s.At >= len(s.Doc) {
			return false, s.Fail("")
		}
		switch c := s.Doc[s.At]; {
		case c == '"':
			s.At++
			return plain, nil
		case c == '\\':
			plain = false
			if err := s.passEscape(); err != nil {
				return false, err
			}
		case c >= 0x80:
			plain = false
		case c < 0x20:
			return false, s.Fail("control character in a string")
		}
	}
}

// passPlain skips the ASCII characters of a string that are not escaped, eight at a time where
// possible, because bodies are mostly hexadecimal digits.
func (s *Scanner) passPlain() {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(s.Doc)-s.At >= 8 {
		word := binary.LittleEndian.Uint64(s.Doc[s.At:])
		quote, escape := word^(ones*'"'), word^(ones*'\\')
		// The high bit of a byte is set if the byte is below 0x20, a quote, a backslash, or not
		// ASCII. A borrow of the subtractions can also set it in a later byte, but not before the
		// first such byte.
		special := ((word - ones*0x20) | (quote - ones) | (escape - ones) | word) & highs
		if special != 0 {
			s.At += bits.TrailingZeros64(special) / 8
			return
		}
		s.At += 8
	}
	for s.At < len(s.Doc) && s.Doc[s.At] >= 0x20 && s.Doc[s.At] < 0x80 && s.Doc[s.At] != '"' && s.Doc[s.At] != '\\' {
		s.At++
	}
}

// passEscape skips a backslash and its escape, up to the last byte of the escape, and checks it.
func (s *Scanner) passEscape() error {
	if s.At++; s.At >= len(s.Doc) {
		return s.Fail("")
	}
	switch s.Doc[s.At] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			if s.At++; s.At >= len(s.Doc) || !isHex(s.Doc[s.At]) {
				return s.Fail("hex digit expected")
			}
		}
		return nil
	}
	return s.Fail("unknown escape")
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// textEnd is the index after the string that begins at from; -1 if it does not end. It does not
// check the string.
func textEnd(doc []byte, from int) int {
	for at := from + 1; at < len(doc); {
		length := bytes.IndexByte(doc[at:], '"')
		if length < 0 {
			return -1
		}
		quote, slashes := at+length, 0
		for doc[quote-1-slashes] == '\\' { // ends at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		at = quote + 1
	}
	return -1
}

// TextEnd is the index after the string that begins at the scanner's position; -1 if it does not
// end.
func (s *Scanner) TextEnd() int { return textEnd(s.Doc, s.At) }

// Wrong returns the error of the next value if it is not what is wanted.
func (s *Scanner) Wrong(want string) error {
	switch s.Peek() {
	case 0:
		return s.Fail("value expected")
	case '{':
		return fmt.Errorf("an object: want %s", want)
	case '[':
		return fmt.Errorf("a list: want %s", want)
	case '"':
		return fmt.Errorf("text: want %s", want)
	default:
		return fmt.Errorf("%.20q: want %s", s.Literal(), want)
	}
}
