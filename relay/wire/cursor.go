package wire

import (
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/internal/jsonscan"
)

// maxDepth is deeper than any body of ours and shallow enough for any stack.
const maxDepth = 24

// cursor reads a JSON document under the rules of the relay's bodies (strict.go, shape.go).
type cursor struct {
	jsonscan.Scanner
}

func newCursor(body []byte) cursor {
	return cursor{jsonscan.Scanner{Doc: body, MaxDepth: maxDepth}}
}

// end makes sure that nothing follows.
func (c *cursor) end() error {
	if !c.AtEnd() {
		return errors.New("something follows the document")
	}
	return nil
}

// digits reads a string of 0x and whole bytes and returns what follows the 0x. Whether these are
// digits is left to who decodes them.
func (c *cursor) digits() ([]byte, error) {
	if c.Peek() != '"' {
		return nil, c.wrong(hexBytes)
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
		return nil, c.wrong(decimal)
	}
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	return text, checkText(decimal, text)
}

// wrong says that the value at the cursor is not of the kind that its name asks for.
func (c *cursor) wrong(want kind) error {
	switch c.Peek() {
	case 0:
		return c.Fail("value expected")
	case '{':
		return fmt.Errorf("an object: want %s", want)
	case '[':
		return fmt.Errorf("a list: want %s", want)
	case '"':
		return fmt.Errorf("text: want %s", want)
	default:
		return fmt.Errorf("%.20q: want %s", c.Literal(), want)
	}
}
