package journal

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/journal/list"
)

// lines is a journal in memory, which takes nothing while busy says so.
type lines struct {
	written []string
	busy    func() bool
}

func (l *lines) AppendAsync(subject string, data []byte) error {
	if l.busy != nil && l.busy() {
		return errors.New("busy")
	}
	l.written = append(l.written, subject+" "+string(data))
	return nil
}

// number is a fact of this test; an odd one cannot be encoded.
func number(n int) (subject string, data []byte, err error) {
	if n%2 == 1 {
		return "test.number", nil, errors.New("odd")
	}
	return "test.number", fmt.Append(nil, n), nil
}

// Facts are written in order, whichever way they came; what cannot be written is lost and told, and does not stop what follows.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		var seen []int
		began := time.Now()
		journal := &lines{busy: func() bool { return time.Since(began) < factPatience/2 }}
		q := NewQueue(journal, slog.New(slog.NewTextHandler(&said, nil)), number)
		q.Observe = func(n int) { seen = append(seen, n) }
		q.PutLater(2)
		q.Put(4)
		q.Put(5)
		q.PutLater(6)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.Put(8)
		if want := []string{"test.number 2", "test.number 4", "test.number 6"}; !slices.Equal(journal.written, want) {
			t.Errorf("written %q, want %q", journal.written, want)
		}
		if !slices.Equal(seen, []int{2, 4, 5, 6}) {
			t.Errorf("observed %v", seen)
		}
		if q.Lost() != 2 || !strings.Contains(said.String(), "encode test.number: odd") {
			t.Errorf("%d lost, said %s", q.Lost(), said.String())
		}
	})
}

// What comes in thousands may fill half of the queue only.
func TestQueueKeepsRoomForWhatMatters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		journal := &lines{busy: func() bool { <-held; return false }}
		q := NewQueue(journal, slog.New(slog.DiscardHandler), number)
		q.Limit = 8
		q.Put(0)
		synctest.Wait() // the writer stands still with it
		for range 8 {
			q.PutLater(2)
		}
		for range 8 {
			q.Put(4)
		}
		close(held)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if q.Lost() != 8 || len(journal.written) != 9 || journal.written[4] != "test.number 2" || journal.written[5] != "test.number 4" {
			t.Errorf("%d lost, written %q", q.Lost(), journal.written)
		}
	})
}

// With Lists, facts that may wait share a message with their neighbours of the same subject; nothing changes its place, and nobody is told of a fact
// before its message is written.
func TestQueueWritesLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &lines{}
		q := NewQueue(journal, slog.New(slog.DiscardHandler), func(text string) (subject string, data []byte, err error) {
			if text == "bad" {
				return "test", nil, errors.New("bad")
			}
			subject, _, _ = strings.Cut(text, " ")
			return subject, fmt.Appendf(nil, `{"text":%q}`, text), nil
		})
		q.Lists = true
		seen := 0
		q.Observe = func(string) {
			if seen++; len(journal.written) == 0 {
				t.Error("told before anything was written")
			}
		}
		for _, text := range []string{"a 1", "a 2", "bad", "a 3", "b 1"} {
			q.PutLater(text)
		}
		q.Put("b 2")
		q.PutLater("b 3")
		q.PutLater("b 4")
		long := strings.Repeat("-", list.Full)
		q.PutLater("b " + long)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			`a [{"text":"a 1"},{"text":"a 2"},{"text":"a 3"}]`, `b {"text":"b 1"}`, `b {"text":"b 2"}`, `b [{"text":"b 3"},{"text":"b 4"}]`,
			`b {"text":"b ` + long + `"}`,
		}
		if !slices.Equal(journal.written, want) {
			t.Errorf("written\n%.400q\nwant\n%.400q", journal.written, want)
		}
		if seen != 9 || q.Lost() != 1 {
			t.Errorf("%d observed, %d lost", seen, q.Lost())
		}
	})
}

// The facts of a message that finds no room are all counted.
func TestQueueLosesAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(&lines{busy: func() bool { return true }}, slog.New(slog.DiscardHandler), number)
		q.Lists = true
		q.PutLater(2)
		q.PutLater(4)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if q.Lost() != 2 {
			t.Errorf("%d lost", q.Lost())
		}
	})
}
