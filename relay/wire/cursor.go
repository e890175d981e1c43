package wire

import "github.com/gavel-relay/gavel/internal/jsonscan"

// maxDepth is how deep values may be nested: deeper than in any body that the relay reads, and
// small enough for the stack.
const maxDepth = 24

// cursor reads a JSON document by the rules for the relay's bodies (strict.go, shape.go).
type cursor struct {
	jsonscan.Scanner
}

func newCursor(body []byte) cursor {
	return cursor{jsonscan.Scanner{Doc: body, MaxDepth: maxDepth}}
}

// digits reads a string of 0x and whole bytes, and returns what follows the 0x. The caller's
// decoder checks that these are digits.
func (c *cursor) digits() ([]byte, error) {
	if c.Peek() != '"' {
		return nil, c.failKind(hexBytes)
	}
	text, err := c.RawText()
	if err != nil {
		return nil, err
	}
	return text[min(2, len(text)):], checkText(hexBytes, text)
}

// number reads a string with a decimal number.
func (c *cursor) number() ([]byte, error) {
	if c.Peek() != '"' {
		return nil, c.failKind(decimal)
	}
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	return text, checkText(decimal, text)
}

// failKind returns the error of a value that is not of the kind that its name requires.
func (c *cursor) failKind(want kind) error { return c.Wrong(want.String()) }
