package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits of an operator's body: how deep objects and lists may be nested, names in an object, and
// bytes in a name. Every valid record is far below them. Without them an error's text would grow by
// the square of the depth.
const (
	maxDepth     = 4
	maxNames     = 64
	maxNameBytes = 64
)

var errTooDeep = fmt.Errorf("nested too deeply: at most %d", maxDepth)

// exact makes sure that all JSON parsers would read a body in the same way: it is one object, no
// name in it occurs twice or has capital letters, no value is null, and nothing follows it.
// encoding/json accepts all of these.
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

// exactObject checks one object. It begins behind the opening brace and ends behind the closing
// one.
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
