// Package mutate is for tests of JSON decoders: it takes a good document and bends one thing at a
// time, in all the ways in which clients and strangers have been seen to bend them. A strict
// decoder refuses each bent document; what it takes all the same is listed, with the reason, and a
// list that promises more exceptions than there are is wrong, too.
package mutate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// Exception is what a decoder takes on purpose.
type Exception struct {
	// Where and What are patterns (path.Match) of the value's place, as in message.fee_recipient or
	// transactions.0, and of the mutation.
	Where, What string
	Why         string
}

// Document is a good document bent at one place.
type Document struct {
	Where, What string
	Body        []byte
}

// String is for errors.
func (d Document) String() string { return d.Where + ": " + d.What }

// Check decodes each bent document and wants an error, except where an exception says otherwise.
func Check(t *testing.T, good []byte, decode func([]byte) error, exceptions ...Exception) {
	t.Helper()
	table := NewTable(exceptions...)
	table.Check(t, "", good, decode)
	table.CheckUse(t)
}

// Table has exceptions for many documents, of which each is needed somewhere.
type Table struct {
	exceptions []Exception
	used       []bool
}

// NewTable is a table that nobody has used.
func NewTable(exceptions ...Exception) *Table {
	return &Table{exceptions, make([]bool, len(exceptions))}
}

// Check is the same for one document of a table. Its name stands before each place.
func (table *Table) Check(t *testing.T, name string, good []byte, decode func([]byte) error) {
	t.Helper()
	if err := decode(good); err != nil {
		t.Fatalf("the good document is refused: %v", err)
	}
	for _, document := range All(good) {
		excused := slices.IndexFunc(table.exceptions, func(e Exception) bool {
			where, errWhere := path.Match(e.Where, name+document.Where)
			what, errWhat := path.Match(e.What, document.What)
			if errWhere != nil || errWhat != nil || e.Why == "" {
				t.Fatalf("an exception of %q, %q, because of %q", e.Where, e.What, e.Why)
			}
			return where && what
		})
		err := decode(document.Body)
		switch {
		case err == nil && excused < 0:
			t.Errorf("%s%s passes: %.300s", name, document, around(document.Body, good))
		case err == nil:
			table.used[excused] = true
		case len(err.Error()) > 2000:
			t.Errorf("%s%s: an error of %d bytes: %.200s", name, document, len(err.Error()), err)
		}
	}
}

// CheckUse wants each exception to have been needed.
func (table *Table) CheckUse(t *testing.T) {
	t.Helper()
	for i, e := range table.exceptions {
		if !table.used[i] {
			t.Errorf("nothing is taken at %s, %s, though it is said that %s", e.Where, e.What, e.Why)
		}
	}
}

// around is where two texts begin to differ.
func around(bent, good []byte) []byte {
	at := 0
	for at < len(bent) && at < len(good) && bent[at] == good[at] {
		at++
	}
	return bent[max(0, at-60):]
}

// All are the bent documents. The good one must be written without white space, and its numbers and
// bytes in the usual way.
func All(good []byte) (all []Document) {
	s := &scan{text: string(good)}
	s.value("")
	if s.at != len(good) {
		panic(fmt.Sprintf("mutate: the good document ends at %d of %d", s.at, len(good)))
	}
	for _, v := range s.values {
		for what, text := range v.bent() {
			all = append(all, Document{v.where, what, []byte(s.text[:v.from] + text + s.text[v.to:])})
		}
		if v.name != "" {
			all = append(all, Document{v.where, "missing", []byte(v.without(s.text))})
		}
		for what, text := range v.bentMember(s.text) {
			all = append(all, Document{v.where, what, []byte(s.text[:v.memberFrom] + text + s.text[v.memberTo:])})
		}
	}
	for _, tail := range []string{"]", "}", "{}", "[]", "null", ",", "x", "]]", "]{", "}}", "\x00", ` "`, "\n1"} {
		all = append(all, Document{"", fmt.Sprintf("tail %q", tail), []byte(s.text + tail)})
	}
	all = append(all, Document{"", "cut short", good[:len(good)-1]}, Document{"", "nothing", nil})
	slices.SortFunc(all, func(a, b Document) int { return strings.Compare(a.String(), b.String()) })
	return all
}
