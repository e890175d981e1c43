package api

import (
	"fmt"
	"testing"

	"github.com/gavel-relay/gavel/relay"
)

// Questions without end take no more memory than there is for them, and what is asked again stays.
func TestAnswersAreBounded(t *testing.T) {
	var a answers
	large, mark := page{raw: make([]byte, 1<<20)}, relay.Mark{Rows: 1}
	kept := func(q question) bool {
		_, _, found := a.find(q)
		return found
	}
	often := question{query: "often"}
	a.keep(often, mark, large)
	for i := range 100 {
		a.keep(question{query: fmt.Sprint(i)}, mark, large)
		if !kept(often) {
			t.Fatal("what is used is forgotten")
		}
	}
	if a.size > answersBytes || len(a.kept) > 32 {
		t.Errorf("%d answers of %d bytes", len(a.kept), a.size)
	}
	if _, of, _ := a.find(often); of != mark {
		t.Errorf("it is about %v", of)
	}
	a.keep(question{query: "large"}, mark, page{raw: make([]byte, answersBytes)})
	if kept(question{query: "large"}) {
		t.Error("one answer takes the room of all")
	}
}
