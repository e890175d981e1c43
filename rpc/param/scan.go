package param

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errSyntax = errors.New("is not JSON")

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipSpace is the index of the first byte from i on that is no white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// valueEnd is the index after the value that begins at i. It looks no deeper than it must: brackets
// are counted, not matched.
func valueEnd(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errSyntax
	}
	switch b[i] {
	case '"':
		return textEnd(b, i)
	case '{', '[':
		return nestEnd(b, i)
	}
	start := i
	for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != ']' && b[i] != '}' && b[i] != ':' {
		i++
	}
	if i == start {
		return 0, errSyntax
	}
	return i, nil
}

// textEnd is the index after the string that begins at i.
func textEnd(b []byte, i int) (int, error) {
	for at := i + 1; ; {
		quote := bytes.IndexByte(b[at:], '"')
		if quote < 0 {
			return 0, errSyntax
		}
		at += quote + 1
		backslashes := 0
		for at-2-backslashes > i && b[at-2-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return at, nil
		}
	}
}

// nestEnd is the index after the object or list that begins at i.
func nestEnd(b []byte, i int) (int, error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, err := textEnd(b, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return 0, errSyntax
}

// eachElement visits the elements of a list until one visit fails.
func eachElement(list []byte, visit func(i int, value []byte) error) error {
	if len(list) == 0 || list[0] != '[' {
		return errors.New("want a list")
	}
	at := skipSpace(list, 1)
	if at < len(list) && list[at] == ']' {
		return nil
	}
	for i := 0; ; i++ {
		end, err := valueEnd(list, at)
		if err != nil {
			return err
		}
		if err := visit(i, list[at:end]); err != nil {
			return err
		}
		more, next, err := separator(list, end, ']')
		if err != nil || !more {
			return err
		}
		at = next
	}
}

// eachMember visits the members of an object until one visit fails.
func eachMember(object []byte, visit func(key string, value []byte) error) error {
	if len(object) == 0 || object[0] != '{' {
		return errors.New("want an object")
	}
	at := skipSpace(object, 1)
	if at < len(object) && object[at] == '}' {
		return nil
	}
	for {
		if at >= len(object) || object[at] != '"' {
			return errSyntax
		}
		end, err := textEnd(object, at)
		if err != nil {
			return err
		}
		key, err := text(object[at:end])
		if err != nil {
			return err
		}
		colon := skipSpace(object, end)
		if colon >= len(object) || object[colon] != ':' {
			return errSyntax
		}
		at = skipSpace(object, colon+1)
		if end, err = valueEnd(object, at); err != nil {
			return err
		}
		if err := visit(key, object[at:end]); err != nil {
			return err
		}
		more, next, err := separator(object, end, '}')
		if err != nil || !more {
			return err
		}
		at = next
	}
}

// separator reads what follows a value: a comma and the place of the next value, or the closing
// bracket.
func separator(b []byte, at int, closing byte) (more bool, next int, err error) {
	at = skipSpace(b, at)
	switch {
	case at < len(b) && b[at] == ',':
		return true, skipSpace(b, at+1), nil
	case at < len(b) && b[at] == closing:
		return false, at + 1, nil
	}
	return false, 0, errSyntax
}

// view is the content of a string; it shares the bytes of raw if there is no escape in it.
func view(raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, errors.New("want a string")
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, errSyntax
	}
	return []byte(s), nil
}

// text is the content of a string, in memory of its own.
func text(raw []byte) (string, error) {
	content, err := view(raw)
	return string(content), err
}

func isNull(raw []byte) bool { return len(raw) == 4 && string(raw) == "null" }

func trim(raw []byte) []byte { return bytes.Trim(raw, " \n\t\r") }
