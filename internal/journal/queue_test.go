package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lines is a journal in memory, which takes nothing while busy says so. It acks at once, or, with
// acks, what is received from there.
type lines struct {
	written []string
	busy    func() bool
	acks    chan error
}

func (l *lines) AppendAcked(subject string, data []byte, _ string, told func(error)) error {
	if err := l.AppendAsync(subject, data); err != nil {
		return err
	}
	go func() {
		if l.acks == nil {
			told(nil)
		} else {
			told(<-l.acks)
		}
	}()
	return nil
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

// Facts are written in order, whichever way they came; what cannot be written is lost and told, and
// does not stop what follows.
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

// A queue that nobody waits for any more tries each fact once, and ends.
func TestQueueEndsWithTheOneThatClosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(&lines{busy: func() bool { return true }}, slog.New(slog.DiscardHandler), number)
		for range 100 {
			q.Put(2)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), factPatience/2)
		defer cancel()
		if err := q.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		<-q.done
		if took := time.Since(began); took != factPatience/2 || q.Lost() != 100 {
			t.Errorf("it ended after %v and lost %d facts, want %v and 100", took, q.Lost(), factPatience/2)
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
		if q.Lost() != 8 || len(journal.written) != 9 || journal.written[4] != "test.number 2" ||
			journal.written[5] != "test.number 4" {
			t.Errorf("%d lost, written %q", q.Lost(), journal.written)
		}
	})
}

// Listed facts share a message with their neighbours of the same subject; nothing changes its
// place, and nobody is told of a fact before its message is written.
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
		q.Listed = func(text string) bool { return text != "b 2" }
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
		long := strings.Repeat("-", fullList)
		q.PutLater("b " + long)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			`a [{"text":"a 1"},{"text":"a 2"},{"text":"a 3"}]`, `b {"text":"b 1"}`, `b {"text":"b 2"}`,
			`b [{"text":"b 3"},{"text":"b 4"}]`,
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
		q.Listed = func(int) bool { return true }
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

// Who waits is answered after the journal's ack, and not before. While one batch is on its way the
// next one gathers, and shares an ack.
func TestQueueAnswersAfterTheAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &lines{acks: make(chan error)}
		q := NewQueue(journal, slog.New(slog.DiscardHandler), number)
		q.Listed = func(int) bool { return true }
		first := q.PutAcked(2)
		synctest.Wait()
		second, third := q.PutAcked(4, 6), q.PutAcked(8)
		synctest.Wait()
		if len(journal.written) != 1 {
			t.Errorf("written %q before the first ack", journal.written)
		}
		if isDone(first) || isDone(second) {
			t.Error("answered without an ack")
		}
		journal.acks <- nil
		synctest.Wait()
		if err := first.Wait(t.Context()); err != nil || isDone(second) {
			t.Errorf("the first: %v; the second is answered: %v", err, isDone(second))
		}
		if second != third || len(journal.written) != 2 {
			t.Errorf("written %q, want the second and the third in one message", journal.written)
		}
		refused := errors.New("the disk is full")
		journal.acks <- refused
		if err := third.Wait(t.Context()); !errors.Is(err, refused) {
			t.Errorf("%v, want what the journal said", err)
		}
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := q.PutAcked(2).Wait(t.Context()); !errors.Is(err, errQueueClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A message whose ack never comes does not hold up what follows, and whoever waits for it stops
// when he wants.
func TestQueueGoesOnWithoutAnAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &lines{acks: make(chan error)}
		q := NewQueue(journal, slog.New(slog.DiscardHandler), number)
		lost := q.PutAcked(2)
		synctest.Wait()
		next := q.PutAcked(4)
		impatient, stop := context.WithTimeout(t.Context(), 2*commitPatience)
		defer stop()
		if err := lost.Wait(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without an ack: %v", err)
		}
		synctest.Wait()
		if len(journal.written) != 2 {
			t.Errorf("written %q, want the next one too", journal.written)
		}
		journal.acks <- nil
		journal.acks <- nil
		if err := errors.Join(lost.Wait(t.Context()), next.Wait(t.Context()), q.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// What belongs together is taken all or not at all, and what cannot be kept is told to who waits.
func TestQueueRefusesWhatItCannotKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		journal := &lines{busy: func() bool { <-held; return false }}
		q := NewQueue(journal, slog.New(slog.DiscardHandler), number)
		q.Listed = func(n int) bool { return n != 6 }
		q.Limit = 8
		q.Put(0)
		synctest.Wait() // the writer stands still with it
		for range 3 {
			q.PutLater(2)
		}
		if err := q.PutAcked(4, 4).Wait(t.Context()); !errors.Is(err, errFull) {
			t.Errorf("two where one has room: %v", err)
		}
		matters, odd := q.PutAcked(6, 4), q.PutAcked(6, 5) // a fact that matters may take the whole room
		close(held)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if matters != odd || odd.Wait(t.Context()) == nil {
			t.Error("nothing is said of a fact that cannot be encoded")
		}
		if q.Lost() != 1 || len(journal.written) != 5 {
			t.Errorf("%d lost, written %q", q.Lost(), journal.written)
		}
	})
}

func isDone(r *AckFuture) bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
