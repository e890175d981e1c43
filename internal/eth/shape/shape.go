package shape

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Shape is the description of a type. Its functions get a value that check accepts.
type Shape[T any] struct {
	// fixed is how many bytes each value has in SSZ; 0 if that differs. least is the fewest that a
	// value has.
	fixed, least int
	// basic: several values share a chunk in the tree of a list.
	basic bool

	// check finds what a Go value can be and the type can't, such as a nil pointer or a list beyond
	// its limit; nil if there is nothing to find.
	check  func(*T) error
	size   func(*T) int
	write  func([]byte, *T) []byte
	read   func([]byte, *T) error
	root   func(*T) chunk
	toJSON func([]byte, *T) []byte
	ofJSON func(*cursor, *T) error
}

// errMissing means that a value has a nil pointer where the type has a value.
var errMissing = errors.New("it is missing")

func (s Shape[T]) valid(v *T) error {
	if v == nil {
		return errMissing
	}
	if s.check == nil {
		return nil
	}
	return s.check(v)
}

// Encode returns the value's SSZ.
func (s Shape[T]) Encode(v *T) ([]byte, error) {
	if err := s.valid(v); err != nil {
		return nil, fmt.Errorf("encode SSZ: %w", err)
	}
	return s.write(make([]byte, 0, s.size(v)), v), nil
}

// Decode reads a value's SSZ, which must be all of raw. The value shares raw's memory.
func (s Shape[T]) Decode(raw []byte) (*T, error) {
	v := new(T)
	if err := s.read(raw, v); err != nil {
		return nil, fmt.Errorf("decode SSZ: %w", err)
	}
	return v, nil
}

// Root returns the value's hash tree root.
func (s Shape[T]) Root(v *T) (phase0.Root, error) {
	if err := s.valid(v); err != nil {
		return phase0.Root{}, fmt.Errorf("hash: %w", err)
	}
	return s.root(v), nil
}

// ToJSON returns the value's JSON, with names in the order of the type.
func (s Shape[T]) ToJSON(v *T) ([]byte, error) {
	if err := s.valid(v); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return s.toJSON(make([]byte, 0, 256+2*s.size(v)), v), nil
}

// FromJSON reads a value's JSON, which must be all of the body.
func (s Shape[T]) FromJSON(body []byte) (*T, error) {
	v, c := new(T), newCursor(body)
	err := s.ofJSON(&c, v)
	if err == nil {
		err = c.End()
	}
	if err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return v, nil
}

// through makes the shape of T that one of its parts has.
func through[T, E any](s Shape[E], at func(*T) *E) Shape[T] {
	part := Shape[T]{
		fixed: s.fixed, least: s.least, basic: s.basic,
		size:   func(v *T) int { return s.size(at(v)) },
		write:  func(to []byte, v *T) []byte { return s.write(to, at(v)) },
		read:   func(raw []byte, v *T) error { return s.read(raw, at(v)) },
		root:   func(v *T) chunk { return s.root(at(v)) },
		toJSON: func(to []byte, v *T) []byte { return s.toJSON(to, at(v)) },
		ofJSON: func(c *cursor, v *T) error { return s.ofJSON(c, at(v)) },
	}
	if s.check != nil {
		part.check = func(v *T) error { return s.check(at(v)) }
	}
	return part
}

// Pointer is the shape of values that are held by pointers, which must not be nil.
func Pointer[E any](s Shape[E]) Shape[*E] {
	p := through(s, func(v **E) *E { return *v })
	p.check = func(v **E) error { return s.valid(*v) }
	p.read = func(raw []byte, v **E) error {
		*v = new(E)
		return s.read(raw, *v)
	}
	p.ofJSON = func(c *cursor, v **E) error {
		*v = new(E)
		return s.ofJSON(c, *v)
	}
	return p
}

// errLength means that a value of fixed size has another number of bytes.
func errLength(got, want int) error { return fmt.Errorf("%d bytes: want %d", got, want) }
