package list

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What goes into a message comes out of it, in order.
func TestMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := rapid.SliceOfN(rapid.SampledFrom([]string{`{}`, `{"a":[1,2]}`, `{"text":"],["}`, `{"b":{"c":null}}`}), 1,
			9).Draw(t, "facts")
		var m Message
		m.Add([]byte("what was before"))
		m.Reset()
		for _, fact := range facts {
			m.Add([]byte(fact))
		}
		if m.Facts() != len(facts) {
			t.Fatalf("%d facts", m.Facts())
		}
		var read []string
		if err := Each(m.Bytes(), func(fact []byte) error { read = append(read, string(fact)); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read, facts) {
			t.Fatalf("%q became %q", facts, read)
		}
	})
}

// A fact alone is the message: journals from before there were lists are read the same way.
func TestOneAlone(t *testing.T) {
	var m Message
	if m.Add([]byte(`{"a":1}`)); string(m.Bytes()) != `{"a":1}` {
		t.Errorf("%s", m.Bytes())
	}
}

// The first fact fits whatever its length; a long message takes no more.
func TestFits(t *testing.T) {
	var m Message
	long := bytes.Repeat([]byte{' '}, 2*Full)
	if !m.Fits(long) {
		t.Error("the first one does not fit")
	}
	m.Add([]byte(`{}`))
	if !m.Fits([]byte(`{}`)) || m.Fits(long) {
		t.Error("what is short fits, what is long does not")
	}
}

// What is no list is refused; an error of the one who reads ends the reading.
func TestEachFails(t *testing.T) {
	if err := Each([]byte(`[{}`), func([]byte) error {
		t.Error("called")
		return nil
	}); err == nil || !strings.Contains(err.Error(), "list of facts") {
		t.Error(err)
	}
	enough, read := errors.New("enough"), 0
	if err := Each([]byte(`[{},{},{}]`), func([]byte) error {
		read++
		return enough
	}); !errors.Is(err, enough) || read != 1 {
		t.Errorf("%v after %d", err, read)
	}
}
