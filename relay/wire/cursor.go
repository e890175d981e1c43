package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth is deeper than any body of ours and shallow enough for any stack.
const maxDepth = 24

var errTooDeep = errors.New("nested too deeply")

// cursor reads a JSON document from its first byte to its last, once, without copying: what it
// hands out are parts of the body.
type cursor struct {
	body []byte
	at   int
	// depth is how many objects and lists are open around at.
	depth int
}

// peek is the next byte that is no white space, 0 at the end.
func (c *cursor) peek() byte {
	for ; c.at < len(c.body); c.at++ {
		switch b := c.body[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// broken says where the document stops being JSON.
func (c *cursor) broken() error {
	if c.at >= len(c.body) {
		return errors.New("not JSON: it ends early")
	}
	return fmt.Errorf("not JSON at byte %d", c.at)
}

// end makes sure that nothing follows.
func (c *cursor) end() error {
	if c.peek(); c.at < len(c.body) {
		return errors.New("something follows the document")
	}
	return nil
}

// members reads an object. member must read the value of each name.
func (c *cursor) members(member func(name []byte) error) error {
	return c.inside('{', '}', func() error {
		name, err := c.text()
		if err != nil {
			return err
		}
		if c.peek() != ':' {
			return c.broken()
		}
		c.at++
		return member(name)
	})
}

// items reads a list. item must read one value.
func (c *cursor) items(item func() error) error { return c.inside('[', ']', item) }

func (c *cursor) inside(open, end byte, next func() error) error {
	if c.peek() != open {
		return c.broken()
	}
	c.at++
	c.depth++
	if c.peek() == end {
		c.at++
		c.depth--
		return nil
	}
	for {
		if err := next(); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.at++
		case end:
			c.at++
			c.depth--
			return nil
		default:
			return c.broken()
		}
	}
}

// text reads a string: a part of the body where it is plain ASCII, otherwise a copy as
// encoding/json reads it.
func (c *cursor) text() ([]byte, error) {
	if c.peek() != '"' {
		return nil, c.broken()
	}
	for i := c.at + 1; i < len(c.body); i++ {
		switch b := c.body[i]; {
		case b == '"':
			text := c.body[c.at+1 : i]
			c.at = i + 1
			return text, nil
		case b == '\\' || b >= 0x80:
			return c.oddText()
		case b < ' ':
			return nil, c.broken()
		}
	}
	return nil, c.broken()
}

// oddText reads a string with escapes or letters outside ASCII.
func (c *cursor) oddText() ([]byte, error) {
	end := c.afterText()
	if end < 0 {
		return nil, c.broken()
	}
	var text unquoted
	if err := json.Unmarshal(c.body[c.at:end], &text); err != nil {
		return nil, c.broken()
	}
	c.at = end
	return text, nil
}

// unquoted takes a text from encoding/json without another copy of it: either it is a part of the
// body or it was made for us.
type unquoted []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *unquoted) UnmarshalText(text []byte) error {
	*u = text
	return nil
}

// afterText is where the string that begins at the cursor has ended, -1 if it does not. What is in
// the string is not looked at.
func (c *cursor) afterText() int {
	for from := c.at + 1; from < len(c.body); {
		length := bytes.IndexByte(c.body[from:], '"')
		if length < 0 {
			return -1
		}
		quote, slashes := from+length, 0
		for c.body[quote-1-slashes] == '\\' { // stops at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
	return -1
}

// digits reads a string of 0x and whole bytes and returns what follows the 0x. Whether these are
// digits is left to unhex.
func (c *cursor) digits() ([]byte, error) {
	if c.peek() != '"' {
		return nil, c.wrong(hexBytes)
	}
	end := c.afterText()
	if end < 0 {
		return nil, c.broken()
	}
	text := c.body[c.at+1 : end-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var err error
		if text, err = c.oddText(); err != nil {
			return nil, err
		}
	}
	c.at = end
	return text[min(2, len(text)):], checkText(hexBytes, text)
}

// leap goes over a value without looking at what is in it.
func (c *cursor) leap() error {
	open := 0
	for {
		switch b := c.peek(); b {
		case 0:
			return c.broken()
		case '"':
			end := c.afterText()
			if end < 0 {
				return c.broken()
			}
			c.at = end
		case '{', '[':
			open++
			c.at++
		case '}', ']':
			open--
			c.at++
		case ',', ':':
			if open <= 0 {
				return c.broken()
			}
			c.at++
		default:
			c.literal()
		}
		if open <= 0 {
			return nil
		}
	}
}

// skip goes over a value of any kind, which must be JSON. Nothing is kept of it.
func (c *cursor) skip() error {
	if c.depth > maxDepth {
		return errTooDeep
	}
	switch c.peek() {
	case '{':
		return c.members(func([]byte) error { return c.skip() })
	case '[':
		return c.items(c.skip)
	case '"':
		return c.skipText()
	default:
		return c.skipLiteral()
	}
}

// skipText goes over a string, which must be one.
func (c *cursor) skipText() error {
	end := c.afterText()
	if end < 0 || !json.Valid(c.body[c.at:end]) {
		return c.broken()
	}
	c.at = end
	return nil
}

// skipLiteral goes over a number or a word, which must be one of JSON's.
func (c *cursor) skipLiteral() error {
	if begin := c.at; !json.Valid(c.literal()) {
		c.at = begin
		return c.broken()
	}
	return nil
}

// literal is the number or word at the cursor, valid or not.
func (c *cursor) literal() []byte {
	from := c.at
	for c.at < len(c.body) && bytes.IndexByte([]byte(" \t\r\n,:\"{}[]"), c.body[c.at]) < 0 {
		c.at++
	}
	return c.body[from:c.at]
}
