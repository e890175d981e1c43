package app

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Two instances on one journal, with a database each, of which one began later: an event has the
// same id at both. A listener whose instance ends goes on at the other, misses nothing, and gets
// nothing twice.
func TestListenerGoesOnAtAnotherInstance(t *testing.T) {
	j := journalOf(t)
	a := openService(t, Config{Source: j, Database: "sqlite:" + filepath.Join(t.TempDir(), "a.db")})
	want, numbers := []string{}, []string{}
	put := func(n int) {
		if n%3 == 0 {
			share(t, j, swap(n, 0)) // a fact without an event
			return
		}
		order := swap(n, stable)
		want = append(want, "data: "+eventOf(t, order))
		numbers = append(numbers, strconv.Itoa(n))
		share(t, j, order)
	}
	for n := range 10 {
		put(n + 1)
	}
	b := openService(t, Config{Source: j, Database: "sqlite:" + filepath.Join(t.TempDir(), "b.db")})
	var heard, ids []string
	hear := func(lines <-chan string, until int) {
		for len(heard) < until {
			id, data := <-lines, <-lines
			heard, ids = append(heard, data), append(ids, strings.TrimPrefix(id, "id: "))
		}
	}
	hear(a.listen("/?ids=1", "0"), 5)
	a.stop() // with events that the listener has not read
	for n := range 10 {
		put(n + 11)
	}
	lines := b.listen("/?ids=1", ids[len(ids)-1])
	hear(lines, len(want))
	if strings.Join(heard, "\n") != strings.Join(want, "\n") {
		t.Errorf("heard %d events, want %d:\n%s", len(heard), len(want), strings.Join(heard, "\n"))
	}
	if strings.Join(ids, " ") != strings.Join(numbers, " ") {
		t.Errorf("the events have the ids %v, and their facts the numbers %v", ids, numbers)
	}
	// What the other instance says of the same events, from the beginning.
	again := b.listen("/?ids=1", "0")
	for i := range ids {
		if id, data := <-again, <-again; id != "id: "+ids[i] || data != heard[i] {
			t.Errorf("event %d is %s %s at the other instance, want id %s", i, id, data, ids[i])
		}
	}
}
