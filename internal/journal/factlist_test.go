package journal

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Facts are in the message in their order, whatever was in it before.
func TestFactList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := rapid.SliceOfN(rapid.SampledFrom([]string{`{}`, `{"a":[1,2]}`, `{"text":"],["}`, `{"b":{"c":null}}`}), 1,
			9).Draw(t, "facts")
		var l factList
		l.add([]byte("what was before"))
		l.reset()
		for _, fact := range facts {
			l.add([]byte(fact))
		}
		if l.facts() != len(facts) {
			t.Fatalf("%d facts", l.facts())
		}
		want := "[" + strings.Join(facts, ",") + "]"
		if len(facts) == 1 {
			want = facts[0]
		}
		if got := string(l.message()); got != want {
			t.Fatalf("%q became %s", facts, got)
		}
	})
}

// A fact alone is the message: journals from before there were lists are read the same way.
func TestFactListOfOne(t *testing.T) {
	var l factList
	if l.add([]byte(`{"a":1}`)); string(l.message()) != `{"a":1}` {
		t.Errorf("%s", l.message())
	}
}

// The first fact fits whatever its length; a long message takes no more.
func TestFactListFits(t *testing.T) {
	var l factList
	long := bytes.Repeat([]byte{' '}, 2*fullList)
	if !l.fits(long) {
		t.Error("the first one does not fit")
	}
	l.add([]byte(`{}`))
	if !l.fits([]byte(`{}`)) || l.fits(long) {
		t.Error("what is short fits, what is long does not")
	}
}
