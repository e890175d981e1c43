package wire

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/jsonscan"
)

// Errors of JSON that the libraries would accept and this package does not. The rules are the same
// in all forks.
var (
	// A known name in another letter case. encoding/json would accept it for some types and not for
	// others.
	errSpelling = errors.New("written in other letters: names are in lower case")
	// A transaction without bytes. No type of transaction has this form.
	errEmptyTransaction = errors.New("empty")
	// A list that is longer than its SSZ type allows (REL-SUB-36).
	errTooMany = errors.New("more than SSZ has room for")
)

// field is a name in an object and how its value is read into the object's type. All fields are
// mandatory.
type field[T any] struct {
	name string
	read func(c *cursor, into *T) error
}

// shape describes a known object by its fields, in the order in which they are usually written. It
// has at most 64.
type shape[T any] []field[T]

// read reads an object. Values of unknown names are ignored, but must keep the rules of strict.go.
func (s shape[T]) read(c *cursor, into *T) error {
	if c.Peek() != '{' {
		return c.failKind(object)
	}
	var seen uint64
	var others jsonscan.Names
	next := 0
	err := c.Members(func(name []byte) error {
		place := s.find(name, next)
		if place < 0 {
			return s.other(c, &others, name)
		}
		next = place + 1
		if seen&(1<<place) != 0 {
			return fmt.Errorf("%s comes twice", name)
		}
		seen |= 1 << place
		if err := s[place].read(c, into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for place := range s {
		if seen&(1<<place) == 0 {
			return fmt.Errorf("no %s", s[place].name)
		}
	}
	return nil
}

// find returns the place of a name, -1 for an unknown one. guess is its most likely place.
func (s shape[T]) find(name []byte, guess int) int {
	if guess < len(s) && s[guess].name == string(name) {
		return guess
	}
	for place := range s {
		if s[place].name == string(name) {
			return place
		}
	}
	return -1
}

func (s shape[T]) other(c *cursor, others *jsonscan.Names, name []byte) error {
	folded := jsonscan.Fold(string(name))
	if s.find([]byte(folded), 0) >= 0 {
		return fmt.Errorf("%.90q: %w", name, errSpelling)
	}
	if err := others.Add(folded); err != nil {
		return err
	}
	return c.walk(folded, kinds[folded])
}

// within makes a field of an object that is part of another one.
func within[T, U any](name string, inner shape[U], at func(*T) *U) field[T] {
	return field[T]{name, func(c *cursor, into *T) error { return inner.read(c, at(into)) }}
}

// made makes a field of an object that another one points to.
func made[T, U any](name string, inner shape[U], at func(*T) **U) field[T] {
	return field[T]{name, func(c *cursor, into *T) error {
		*at(into) = new(U)
		return inner.read(c, *at(into))
	}}
}

// number makes a field of 64 bits.
func number[T any, N ~uint64](name string, at func(*T) *N) field[T] {
	return field[T]{name, func(c *cursor, into *T) error {
		value, err := c.uint64()
		if err != nil {
			return err
		}
		*at(into) = N(value)
		return nil
	}}
}

func (c *cursor) uint64() (uint64, error) {
	text, err := c.number()
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: want a decimal number below 2^64", text)
	}
	return value, nil
}

// wei makes a field of 256 bits.
func wei[T any](name string, at func(*T) **uint256.Int) field[T] {
	return field[T]{name, func(c *cursor, into *T) error {
		text, err := c.number()
		if err != nil {
			return err
		}
		value, err := uint256.FromDecimal(string(text))
		if err != nil {
			return fmt.Errorf("%s: want a decimal number below 2^256", text)
		}
		*at(into) = value
		return nil
	}}
}

// fixed makes a field of exactly as many bytes as at returns.
func fixed[T any](name string, at func(*T) []byte) field[T] {
	return field[T]{name, func(c *cursor, into *T) error { return c.fixed(at(into)) }}
}

func (c *cursor) fixed(into []byte) error {
	digits, err := c.digits()
	if err != nil {
		return err
	}
	if len(digits) != 2*len(into) {
		return fmt.Errorf("%d bytes: want %d", len(digits)/2, len(into))
	}
	return jsonscan.Unhex(into, digits)
}

// bytesOf makes a field of exactly size bytes.
func bytesOf[T any](name string, size int, at func(*T) *[]byte) field[T] {
	return field[T]{name, func(c *cursor, into *T) error {
		*at(into) = make([]byte, size)
		return c.fixed(*at(into))
	}}
}

// bytes reads up to most bytes.
func (c *cursor) bytes(most int) ([]byte, error) {
	digits, err := c.digits()
	if err != nil {
		return nil, err
	}
	if len(digits) > 2*most {
		return nil, fmt.Errorf("%d bytes: %w", len(digits)/2, errTooMany)
	}
	into := make([]byte, len(digits)/2)
	return into, jsonscan.Unhex(into, digits)
}

// orNull makes a field whose list may be null, which means empty, because Go's libraries write a
// nil list as null.
func orNull[T any](list field[T]) field[T] {
	return field[T]{list.name, func(c *cursor, into *T) error {
		if c.Peek() != 'n' {
			return list.read(c, into)
		}
		if begin := *c; string(c.Literal()) != "null" {
			*c = begin
			return list.read(c, into)
		}
		empty := newCursor([]byte("[]"))
		return list.read(&empty, into)
	}}
}

// fixedList makes a field that is a list of up to most byte arrays.
func fixedList[T, E any](name string, most int, bytes func(*E) []byte, at func(*T) *[]E) field[T] {
	size := len(bytes(new(E)))
	return field[T]{name, func(c *cursor, into *T) error {
		// The list is allocated once, in its final size, because blobs are too large to be copied when a
		// list grows.
		list := make([]E, 0, min(most, c.countTexts(2+2*size)))
		err := c.list(hexList, most, func() error {
			if len(list) == cap(list) {
				list = append(make([]E, 0, 2*len(list)+1), list...)
			}
			list = list[:len(list)+1]
			return c.fixed(bytes(&list[len(list)-1]))
		})
		*at(into) = list
		return err
	}}
}

// objectList makes a field that is a list of up to most objects.
func objectList[T, E any](name string, most int, inner shape[E], at func(*T) *[]*E) field[T] {
	return field[T]{name, func(c *cursor, into *T) error {
		list := []*E{}
		err := c.list(objects, most, func() error {
			list = append(list, new(E))
			return inner.read(c, list[len(list)-1])
		})
		*at(into) = list
		return err
	}}
}

// list reads a list of up to most items.
func (c *cursor) list(want kind, most int, item func() error) error {
	if c.Peek() != '[' {
		return c.failKind(want)
	}
	return c.ItemsUpTo(most, errTooMany, item)
}

// countTexts looks ahead from the beginning of a list and counts the strings of one length that
// follow each other. The count is only a guess for the capacity, so it does not read the strings.
func (c *cursor) countTexts(length int) (count int) {
	ahead := *c
	if ahead.Peek() != '[' {
		return 0
	}
	for {
		ahead.At++
		if ahead.Peek() != '"' || len(ahead.Doc)-ahead.At < length+2 || ahead.Doc[ahead.At+length+1] != '"' {
			return count
		}
		count++
		if ahead.At += length + 2; ahead.Peek() != ',' {
			return count
		}
	}
}
