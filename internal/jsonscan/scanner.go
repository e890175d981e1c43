package jsonscan

import (
	"errors"
	"fmt"
)

// Scanner goes through a document from its first byte to its last.
type Scanner struct {
	// Doc is the document, At the index of the next byte.
	Doc []byte
	At  int
	// MaxDepth is how deep objects and lists may be nested.
	MaxDepth int

	depth int // how many are open around At
}

// SyntaxError says at which byte a text stops being JSON.
type SyntaxError struct {
	// At is the index of the byte, What says what is wrong with it.
	At   int
	What string

	early bool
}

// Error is short, to be part of a longer sentence.
func (e *SyntaxError) Error() string {
	switch {
	case e.What == tooDeep:
		return "nested too deeply"
	case e.early:
		return "not JSON: it ends early"
	}
	return fmt.Sprintf("not JSON at byte %d", e.At)
}

// Says is what is wrong, and where, for a reader who wants to correct the text.
func (e *SyntaxError) Says() string { return fmt.Sprintf("%s at byte %d", e.What, e.At) }

// IsTooDeep says that the text has more than MaxDepth levels; it may still be JSON.
func (e *SyntaxError) IsTooDeep() bool { return e.What == tooDeep }

const tooDeep = "nested too deep"

// Fail is a SyntaxError at the scanner's position.
func (s *Scanner) Fail(what string) error {
	if s.At >= len(s.Doc) {
		return &SyntaxError{At: s.At, What: "unexpected end", early: true}
	}
	return &SyntaxError{At: s.At, What: what}
}

// Peek moves to the next byte that is no white space, and returns it; 0 at the end.
func (s *Scanner) Peek() byte {
	for ; s.At < len(s.Doc); s.At++ {
		switch b := s.Doc[s.At]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// AtEnd says whether nothing but white space follows.
func (s *Scanner) AtEnd() bool {
	s.Peek()
	return s.At >= len(s.Doc)
}

// End returns an error if something follows the document.
func (s *Scanner) End() error {
	if !s.AtEnd() {
		return errors.New("something follows the document")
	}
	return nil
}

// Members reads an object. It calls member with each name; member must read the value.
func (s *Scanner) Members(member func(name []byte) error) error {
	return s.inside('{', '}', missingInObject, func() error {
		if s.Peek() != '"' {
			return s.Fail(noKey)
		}
		name, err := s.Text()
		if err != nil {
			return err
		}
		if err := s.colon(); err != nil {
			return err
		}
		return member(name)
	})
}

const (
	missingInObject = "comma or } expected"
	noKey           = "key expected"
)

func (s *Scanner) colon() error {
	if s.Peek() != ':' {
		return s.Fail("colon expected")
	}
	s.At++
	return nil
}

// Items reads a list. It calls item for each value; item must read it.
func (s *Scanner) Items(item func() error) error {
	return s.inside('[', ']', "comma or ] expected", item)
}

// ItemsUpTo reads a list of up to most values, which item must read. Of a longer one the error is
// tooMany; an error of item says which value it was at.
func (s *Scanner) ItemsUpTo(most int, tooMany error, item func() error) error {
	count := 0
	return s.Items(func() error {
		if count++; count > most {
			return fmt.Errorf("more than %d: %w", most, tooMany)
		}
		if err := item(); err != nil {
			return fmt.Errorf("item %d: %w", count-1, err)
		}
		return nil
	})
}

func (s *Scanner) inside(open, end byte, missing string, next func() error) error {
	if s.Peek() != open {
		return s.Fail(string(open) + " expected")
	}
	if s.depth++; s.depth > s.MaxDepth {
		return &SyntaxError{At: s.At, What: tooDeep}
	}
	s.At++
	if s.Peek() == end {
		s.At++
		s.depth--
		return nil
	}
	for {
		if err := next(); err != nil {
			return err
		}
		switch s.Peek() {
		case ',':
			s.At++
		case end:
			s.At++
			s.depth--
			return nil
		default:
			return s.Fail(missing)
		}
	}
}

// Value reads and checks a value of any kind, and returns its text.
func (s *Scanner) Value() ([]byte, error) {
	first := s.Peek()
	from, err := s.At, error(nil)
	switch first {
	case '"':
		_, err = s.passText()
	case '{':
		err = s.inside('{', '}', missingInObject, s.skipMember)
	case '[':
		err = s.Items(s.skip)
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		err = s.number()
	}
	return s.Doc[from:s.At], err
}

func (s *Scanner) skip() error {
	_, err := s.Value()
	return err
}

// skipMember skips a member. It does not decode the name, which may be long and is not needed.
func (s *Scanner) skipMember() error {
	if s.Peek() != '"' {
		return s.Fail(noKey)
	}
	if _, err := s.passText(); err != nil {
		return err
	}
	if err := s.colon(); err != nil {
		return err
	}
	return s.skip()
}

// Raw skips a value and returns its text. It does not check the value: it counts brackets and does
// not match them.
func (s *Scanner) Raw() ([]byte, error) {
	s.Peek()
	from, open := s.At, 0
	for {
		switch b := s.Peek(); b {
		case 0:
			return nil, s.Fail("value expected")
		case '"':
			end := textEnd(s.Doc, s.At)
			if end < 0 {
				return nil, s.Fail("value expected")
			}
			s.At = end
		case '{', '[':
			open++
			s.At++
		case '}', ']':
			open--
			s.At++
		case ',', ':':
			if open <= 0 {
				return nil, s.Fail("value expected")
			}
			s.At++
		default:
			s.Literal()
		}
		if open < 0 {
			s.At--
			return nil, s.Fail("value expected")
		}
		if open == 0 {
			return s.Doc[from:s.At], nil
		}
	}
}

// endsLiteral has the bytes that end a number or a word.
var endsLiteral = func() (table [256]bool) {
	for _, b := range []byte(" \t\r\n,:\"{}[]") {
		table[b] = true
	}
	return table
}()

// Literal reads a number or a word without checking it.
func (s *Scanner) Literal() []byte {
	from := s.At
	for s.At < len(s.Doc) && !endsLiteral[s.Doc[s.At]] {
		s.At++
	}
	return s.Doc[from:s.At]
}

func (s *Scanner) word(word string) error {
	for i := range len(word) {
		if !s.is(word[i]) {
			return s.Fail("value expected")
		}
		s.At++
	}
	return nil
}

// number skips [-] digits [. digits] [e [+-] digits], without leading zeros.
func (s *Scanner) number() error {
	if s.is('-') {
		s.At++
	}
	switch {
	case s.is('0'):
		s.At++
	case !s.digits():
		return s.Fail("value expected")
	}
	if s.is('.') {
		s.At++
		if !s.digits() {
			return s.Fail("digit expected")
		}
	}
	if s.is('e') || s.is('E') {
		if s.At++; s.is('+') || s.is('-') {
			s.At++
		}
		if !s.digits() {
			return s.Fail("digit expected")
		}
	}
	return nil
}

func (s *Scanner) is(c byte) bool { return s.At < len(s.Doc) && s.Doc[s.At] == c }

// digits skips all digits here; it is false if there is none.
func (s *Scanner) digits() bool {
	from := s.At
	for s.At < len(s.Doc) && isDigit(s.Doc[s.At]) {
		s.At++
	}
	return s.At > from
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
