package data

import (
	"fmt"
	"testing"

	"github.com/gavel-relay/gavel/relay"
)

// Questions without end take no more memory than there is for them, and what is asked again stays.
func TestAnswersAreBounded(t *testing.T) {
	var a answers
	raw, mark := make([]byte, 1<<20), relay.Mark{Rows: 1}
	often := question{query: "often"}
	a.keep(often, mark, raw)
	for i := range 100 {
		a.keep(question{query: fmt.Sprint(i)}, mark, raw)
		if a.find(often, mark) == nil {
			t.Fatal("what is used is forgotten")
		}
	}
	if a.size > answersBytes || len(a.kept) > 32 {
		t.Errorf("%d answers of %d bytes", len(a.kept), a.size)
	}
	if a.find(often, relay.Mark{Rows: 2}) != nil {
		t.Error("an answer of other rows")
	}
	a.keep(question{query: "large"}, mark, make([]byte, answersBytes))
	if a.find(question{query: "large"}, mark) != nil {
		t.Error("one answer takes the room of all")
	}
}
