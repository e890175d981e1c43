package journal

import (
	"testing"
	"time"
)

// Numbers that were skipped are given to nobody, and readers see that there is nothing.
//
//gavel:fault power-cut
func TestSkippedNumbersAreNotGivenAgain(t *testing.T) {
	j := open(t, Config{Dir: t.TempDir()})
	if _, err := j.Append(t.Context(), "word", []byte(`"before"`)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := j.Skip(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
	}
	seq, err := j.Append(t.Context(), "word", []byte(`"after"`))
	if err != nil || seq != 10 {
		t.Fatalf("number %d, %v, want 10", seq, err)
	}
	words := 0
	err = j.Past(t.Context(), 1, []string{"word"}, func(time.Time, string, []byte) error { words++; return nil })
	if err != nil || words != 2 {
		t.Errorf("%d words, %v", words, err)
	}
}
