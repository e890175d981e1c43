package servetest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// A test of a JSON decoder takes a good document and makes one thing in it wrong at a time, in all
// the ways in which clients have sent wrong documents. A strict decoder refuses each of these
// documents. A test lists those that the decoder accepts on purpose, with the reason. An exception
// that is not needed fails the test, too.

// Exception is a mutation that a decoder accepts on purpose.
type Exception struct {
	// Where and What are patterns (path.Match) for the value's path, such as message.fee_recipient
	// or transactions.0, and for the mutation.
	Where, What string
	Why         string
}

// Mutation is a good document with one mutation.
type Mutation struct {
	Where, What string
	Body        []byte
}

// String names path and mutation, for messages of tests.
func (d Mutation) String() string { return d.Where + ": " + d.What }

// CheckMutations decodes each mutated document, and fails the test if one is accepted without an
// exception.
func CheckMutations(t *testing.T, good []byte, decode func([]byte) error, exceptions ...Exception) {
	t.Helper()
	table := NewMutationTable(exceptions...)
	table.Check(t, "", good, decode)
	table.CheckUse(t)
}

// MutationTable has exceptions for many documents. Each exception must be needed for one of them.
type MutationTable struct {
	exceptions []Exception
	used       []bool
}

// NewMutationTable returns a table whose exceptions are not used yet.
func NewMutationTable(exceptions ...Exception) *MutationTable {
	return &MutationTable{exceptions, make([]bool, len(exceptions))}
}

// Check is as the function CheckMutations, for one of many documents. Its name stands before each
// path.
func (table *MutationTable) Check(t *testing.T, name string, good []byte, decode func([]byte) error) {
	t.Helper()
	if err := decode(good); err != nil {
		t.Fatalf("the good document is refused: %v", err)
	}
	for _, document := range Mutations(good) {
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

// CheckUse fails the test for each exception that was not needed.
func (table *MutationTable) CheckUse(t *testing.T) {
	t.Helper()
	for i, e := range table.exceptions {
		if !table.used[i] {
			t.Errorf("nothing is taken at %s, %s, though it is said that %s", e.Where, e.What, e.Why)
		}
	}
}

// around is the text from shortly before the first difference on.
func around(bent, good []byte) []byte {
	at := 0
	for at < len(bent) && at < len(good) && bent[at] == good[at] {
		at++
	}
	return bent[max(0, at-60):]
}

// Mutations are the mutated documents. The good one must be written without white space, and its
// numbers and bytes in the usual way.
func Mutations(good []byte) (all []Mutation) {
	s := &scan{text: string(good)}
	s.value("")
	if s.at != len(good) {
		panic(fmt.Sprintf("mutate: the good document ends at %d of %d", s.at, len(good)))
	}
	for _, v := range s.values {
		for what, text := range v.bent() {
			all = append(all, Mutation{v.where, what, []byte(s.text[:v.from] + text + s.text[v.to:])})
		}
		if v.name != "" {
			all = append(all, Mutation{v.where, "missing", []byte(v.without(s.text))})
		}
		for what, text := range v.bentMember(s.text) {
			all = append(all, Mutation{v.where, what, []byte(s.text[:v.memberFrom] + text + s.text[v.memberTo:])})
		}
	}
	for _, tail := range []string{"]", "}", "{}", "[]", "null", ",", "x", "]]", "]{", "}}", "\x00", ` "`, "\n1"} {
		all = append(all, Mutation{"", fmt.Sprintf("tail %q", tail), []byte(s.text + tail)})
	}
	all = append(all, Mutation{"", "cut short", good[:len(good)-1]}, Mutation{"", "nothing", nil})
	slices.SortFunc(all, func(a, b Mutation) int { return strings.Compare(a.String(), b.String()) })
	return all
}
