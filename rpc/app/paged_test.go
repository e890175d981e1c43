package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/journal"
)

// brittle is a store that stops to work after some calls, as one whose process is killed: what is
// asked of the last one is done or not, nobody knows.
type brittle struct {
	kept  map[string]string
	calls int
	done  bool // the last call
}

var errGone = errors.New("gone")

func (b *brittle) call(do func()) error {
	b.calls--
	if b.calls > 0 || b.calls == 0 && b.done {
		do()
	}
	if b.calls <= 0 {
		return errGone
	}
	return nil
}

func (b *brittle) PutState(_ context.Context, subject string, data []byte) error {
	text := string(data)
	return b.call(func() { b.kept[subject] = text })
}

func (b *brittle) DropState(_ context.Context, subject string) error {
	return b.call(func() {
		for key := range b.kept {
			if key == subject || strings.HasPrefix(key, strings.TrimSuffix(subject, ">")) && strings.HasSuffix(subject, ">") {
				delete(b.kept, key)
			}
		}
	})
}

func (b *brittle) State(_ context.Context, subject string) ([]byte, error) {
	data, there := b.kept[subject]
	if !there {
		return nil, journal.ErrNotFound
	}
	return []byte(data), b.call(func() {})
}

// TestPagedListIsWhole: wherever the writing of a list ends, by a kill or by an error after which
// the process goes on, and wherever that of the next one does, what is read is one of the lists
// that may hold, whole; and one that is kept at last holds.
func TestPagedListIsWhole(t *testing.T) {
	lists := [][]string{listOf("first", 3), listOf("second", 5), listOf("third", 2), listOf("last", 4)}
	for _, end := range endings(9) {
		for _, next := range endings(9) {
			store := &brittle{kept: map[string]string{}}
			p := newPaged(store, "list")
			p.full = 1
			put := func(list int, e ending) error {
				store.calls, store.done = e.calls, e.done
				err := p.put(context.Background(), nil, itemsOf(lists[list]))
				store.calls = never
				if e.killed {
					p = newPaged(store, "list")
					p.full = 1
					_ = p.read(context.Background(), nil, func([]byte) error { return nil })
				}
				return err
			}
			holds := func(may ...int) {
				t.Helper()
				read, err := readList(store)
				if err != nil || !slices.ContainsFunc(may, func(list int) bool { return slices.Equal(lists[list], read) }) {
					t.Fatalf("%+v, then %+v: %q is read, want one of %v: %v", end, next, read, may, err)
				}
			}
			if err := put(0, ending{calls: never}); err != nil {
				t.Fatal(err)
			}
			may := []int{0, 1}
			if put(1, end) == nil {
				may = []int{1}
			}
			holds(may...)
			if put(2, next) == nil {
				may = nil
			}
			holds(append(may, 2)...)
			if err := put(3, ending{calls: never}); err != nil {
				t.Fatal(err)
			}
			holds(3)
			if len(store.kept) != 5 {
				t.Fatalf("%+v, then %+v: %d messages are left of a list of 4 pages", end, next, len(store.kept))
			}
		}
	}
}

// ending says after how many calls a store is gone, whether the last one is done, and whether the
// process goes with it.
type ending struct {
	calls        int
	done, killed bool
}

const never = 1 << 30

func endings(calls int) (all []ending) {
	for n := 1; n <= calls; n++ {
		all = append(all, ending{n, false, false}, ending{n, true, false}, ending{n, false, true}, ending{n, true, true})
	}
	return all
}

func listOf(name string, items int) (list []string) {
	for i := range items {
		list = append(list, fmt.Sprintf(`{"%s":%d}`, name, i))
	}
	return list
}

func itemsOf(list []string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, item := range list {
			if !yield([]byte(item), nil) {
				return
			}
		}
	}
}

func readList(store stateStore) (read []string, err error) {
	p := newPaged(store, "list")
	err = p.read(context.Background(), nil, func(item []byte) error { read = append(read, string(item)); return nil })
	return read, err
}

// A list that an earlier version kept in one message is read.
func TestListOfAnEarlierVersion(t *testing.T) {
	store := &brittle{kept: map[string]string{"list": `[{"a":1},{"a":2}]`}, calls: 100}
	var read []string
	p := newPaged(store, "list")
	for range 2 {
		if err := p.read(t.Context(), nil, func(item []byte) error {
			read = append(read, string(item))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := p.put(t.Context(), nil, itemsOf([]string{`{"a":3}`})); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}; !slices.Equal(read, want) {
		t.Errorf("%q is read, want %q", read, want)
	}
}
