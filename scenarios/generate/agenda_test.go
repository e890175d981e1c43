package generate

import (
	"slices"
	"testing"
	"time"
)

// Events come in the order of time, those of the same time in the order in which they were added,
// also if events add events; those at or after the end stay.
func TestAgenda(t *testing.T) {
	var a agenda
	var came []int
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	note := func(n int) func() error {
		return func() error {
			came = append(came, n)
			return nil
		}
	}
	a.add(at(3), note(5))
	a.add(at(1), func() error {
		a.add(at(2), note(4))
		a.add(at(1), note(2))
		return note(1)()
	})
	a.add(at(2), note(3))
	a.add(at(4), note(6))
	for {
		e, ok := a.next(at(4))
		if !ok {
			break
		}
		if err := e.do(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 2, 3, 4, 5}; !slices.Equal(came, want) {
		t.Errorf("%v, want %v", came, want)
	}
}
