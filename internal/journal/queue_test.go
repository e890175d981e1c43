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
