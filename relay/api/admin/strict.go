package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What an operator's body may have, more than any record of ours: how deep objects and lists may
// lie in each other, names in an object, and bytes in a name. Without a bound an error's text would
// grow by the square of the depth.
const (
	maxDepth     = 4
	maxNames     = 64
	maxNameBytes = 64
)

var errTooDeep = fmt.Errorf("nested too deeply: at most %d", maxDepth)

// exact makes sure that a body says one thing to everybody: it is one object, no name in it comes
// twice or in other letters than ours, which are small, nothing is null, and nothing follows it.
// encoding/json would let all of that pass.
func exact(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	first, err := decoder.Token()
	if err != nil || first != json.Delim('{') {
		return errors.New("want a JSON object")
	}
	if err := exactObject(decoder, 1); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// exactObject reads on from behind an opening brace to behind its closing one.
func exactObject(decoder *json.Decoder, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if len(name) > maxNameBytes || len(seen) == maxNames {
			return fmt.Errorf("%.90q is not known", name)
		}
		for _, letter := range []byte(name) {
			if (letter < 'a' || letter > 'z') && (letter < '0' || letter > '9') && letter != '_' {
				return fmt.Errorf("%.90q is not known: names are in small letters", name)
			}
		}
		if seen[name] {
			return fmt.Errorf("%.90q comes twice", name)
		}
		seen[name] = true
		if err := exactValue(decoder, depth); err != nil {
			return fmt.Errorf("%.90s: %w", name, err)
		}
	}
	_, err := decoder.Token()
	return err
}

func exactValue(decoder *json.Decoder, depth int) error {
	token, err := decoder.Token()
	switch {
	case err != nil:
		return err
	case token == nil:
		return errors.New("null says nothing: leave the name out")
	case token == json.Delim('{'):
		return exactObject(decoder, depth+1)
	case token == json.Delim('['):
		if depth >= maxDepth {
			return errTooDeep
		}
		for decoder.More() {
			if err := exactValue(decoder, depth+1); err != nil {
				return err
			}
		}
		_, err := decoder.Token()
		return err
	}
	return nil
}
