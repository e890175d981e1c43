package bundle

import (
	"encoding/json"
	"reflect"
)

// RawValue is a value that its caller reads later, when it knows what type to expect. It refers to
// the request's memory.
type RawValue struct {
	raw []byte
}

// Read implements Field.
func (l *RawValue) Read(raw []byte) error {
	l.raw = nil
	if !isNull(raw) {
		l.raw = raw
	}
	return nil
}

// Set says that the request has a value.
func (l RawValue) Set() bool { return l.raw != nil }

// JSON returns the value as it came, nil if there was none.
func (l RawValue) JSON() json.RawMessage { return l.raw }

// RawList is a list that has been counted but not read. It refers to the request's memory.
type RawList struct {
	raw []byte
	n   int
}

// Read implements Field.
func (l *RawList) Read(raw []byte) error {
	*l = RawList{}
	if isNull(raw) {
		return nil
	}
	l.raw = raw
	return eachElement(raw, func(int, []byte) error { l.n++; return nil })
}

// Count is the number of elements.
func (l RawList) Count() int { return l.n }

// ReadElements reads the list; path is its place in the request, for errors. MaxList does not apply
// to it.
func ReadElements[T any](path string, l RawList) ([]T, error) {
	if l.n == 0 {
		return nil, nil
	}
	list := make([]T, l.n)
	err := eachElement(l.raw, func(i int, value []byte) error {
		return withinElement(i, decodeElement(value, reflect.ValueOf(&list[i]).Elem()))
	})
	return list, refuseParam(path, err)
}
