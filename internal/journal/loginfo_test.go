package journal

import (
	"bytes"
	"errors"
	"testing"
)

// The log says where its facts begin and end, also when the oldest are gone; a fact is found with
// its place.
func TestExtent(t *testing.T) {
	j := open(t, Config{Dir: t.TempDir(), FactsBytes: 1 << 20})
	extent := func() LogInfo {
		t.Helper()
		e, err := j.LogInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := extent(); e.First != 1 || e.Last != 0 || e.MaxBytes != 1<<20 || e.MaxAge != factsFor {
		t.Errorf("%+v of a log that is empty", e)
	}
	if _, _, err := j.LastWithSeq(t.Context(), "mark"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v of a subject that is empty", err)
	}
	junk := bytes.Repeat([]byte("x"), 64<<10)
	for i := range uint64(40) {
		if seq, err := j.Append(t.Context(), "junk", junk); err != nil || seq != i+1 {
			t.Fatal(seq, err)
		}
	}
	if _, err := j.Append(t.Context(), "mark", []byte("here")); err != nil {
		t.Fatal(err)
	}
	if e := extent(); e.Last != 41 || e.First <= 20 || e.First > 41 {
		t.Errorf("%+v when the oldest are gone", e)
	}
	if place, data, err := j.LastWithSeq(t.Context(), "mark"); place != 41 || string(data) != "here" || err != nil {
		t.Errorf("the mark is at %d: %q, %v", place, data, err)
	}
}
