package jsonrpc

import "fmt"

// scanner finds where JSON values end (RFC 8259). It checks all of the grammar and decodes nothing,
// so that what it finds are slices of the text. Invalid UTF-8 in strings is let through: who
// decodes a string replaces it.
type scanner struct {
	text  []byte
	at    int
	depth int
}

// maxDepth bounds how deep lists and objects may lie in each other. No method needs more than ten.
const maxDepth = 500

// badJSON tells where a text ceases to be JSON.
type badJSON struct {
	at   int
	what string
}

// Error implements error.
func (b *badJSON) Error() string { return fmt.Sprintf("%s at byte %d", b.what, b.at) }

func (s *scanner) bad(what string) error {
	if s.at >= len(s.text) {
		what = "unexpected end"
	}
	return &badJSON{s.at, what}
}

// peek is the next byte that is no blank; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value passes a value, with the blanks before it, and returns it.
func (s *scanner) value() ([]byte, error) {
	first := s.peek()
	from, err := s.at, error(nil)
	switch first {
	case '"':
		err = s.str()
	case '{':
		err = s.object(func([]byte) error { _, err := s.value(); return err })
	case '[':
		err = s.list(func() error { _, err := s.value(); return err })
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		err = s.number()
	}
	return s.text[from:s.at], err
}

// list passes a list. The function passes one element each time it is called.
func (s *scanner) list(element func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.leave()
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.leave()
			return nil
		default:
			return s.bad("comma or ] expected")
		}
	}
}

// object passes an object. The function gets a key as it stands between its quotes, and passes its
// value.
func (s *scanner) object(member func(key []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.leave()
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.bad("key expected")
		}
		from := s.at
		if err := s.str(); err != nil {
			return err
		}
		key := s.text[from+1 : s.at-1]
		if s.peek() != ':' {
			return s.bad("colon expected")
		}
		s.at++
		if err := member(key); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.leave()
			return nil
		default:
			return s.bad("comma or } expected")
		}
	}
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return s.bad("nested too deep")
	}
	s.at++
	return nil
}

func (s *scanner) leave() {
	s.depth--
	s.at++
}

// special are the bytes that may not stand for themselves in a string, and the quote that ends it.
var special = func() (table [256]bool) {
	for c := range 0x20 {
		table[c] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

// str passes a string.
func (s *scanner) str() error {
	for s.at++; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		if !special[c] {
			continue
		}
		switch c {
		case '"':
			s.at++
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.bad("control character in a string")
		}
	}
	return s.bad("")
}

// escape passes what follows a backslash, except its last byte.
func (s *scanner) escape() error {
	if s.at++; s.at >= len(s.text) {
		return s.bad("")
	}
	switch s.text[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			if s.at++; s.at >= len(s.text) || !isHex(s.text[s.at]) {
				return s.bad("hex digit expected")
			}
		}
		return nil
	}
	return s.bad("unknown escape")
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) word(word string) error {
	for i := range len(word) {
		if s.at >= len(s.text) || s.text[s.at] != word[i] {
			return s.bad("value expected")
		}
		s.at++
	}
	return nil
}

// number passes [-] digits [. digits] [e [+-] digits], without leading zeros.
func (s *scanner) number() error {
	if s.is('-') {
		s.at++
	}
	switch {
	case s.is('0'):
		s.at++
	case !s.digits():
		return s.bad("value expected")
	}
	if s.is('.') {
		s.at++
		if !s.digits() {
			return s.bad("digit expected")
		}
	}
	if s.is('e') || s.is('E') {
		if s.at++; s.is('+') || s.is('-') {
			s.at++
		}
		if !s.digits() {
			return s.bad("digit expected")
		}
	}
	return nil
}

func (s *scanner) is(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

// digits passes at least one digit.
func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.text) && isDigit(s.text[s.at]) {
		s.at++
	}
	return s.at > from
}
