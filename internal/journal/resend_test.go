package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// What the journal does not keep is sent again, and what comes later waits for it. Each fact is
// observed once.
func TestResender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &lines{acks: make(chan error)}
		q := NewQueue(journal, slog.New(slog.DiscardHandler), number)
		var seen []int
		q.Observe = func(n int) { seen = append(seen, n) }
		r := NewResender(q)
		r.Put(2)
		synctest.Wait()
		r.Put(3) // cannot be encoded: lost, and in nobody's way
		r.Put(4)
		for _, ack := range []error{errors.New("no leader"), nil, nil} {
			journal.acks <- ack // when the message is sent, the second one after a pause
		}
		if err := errors.Join(r.Close(t.Context()), q.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if want := []string{"test.number 2", "test.number 2", "test.number 4"}; !slices.Equal(journal.written, want) {
			t.Errorf("written %q, want %q", journal.written, want)
		}
		if want := []int{2, 3, 4}; !slices.Equal(seen, want) || q.Lost() != 1 {
			t.Errorf("observed %v, lost %d; want %v and 1", seen, q.Lost(), want)
		}
		r.Put(6)
		if q.Lost() != 2 {
			t.Error("what is put after the end is not counted as lost")
		}
	})
}

// A journal that stays away does not keep the process from ending: what it lacks is counted.
func TestResenderGivesUpWhenItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(&lines{busy: func() bool { return true }}, slog.New(slog.DiscardHandler), number)
		r := NewResender(q)
		r.Put(2)
		r.Put(4)
		time.Sleep(time.Minute)
		if q.Lost() != 0 {
			t.Errorf("%d lost while the journal may come back", q.Lost())
		}
		ctx, cancel := context.WithTimeout(t.Context(), factPatience)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		<-r.done
		if q.Lost() != 2 {
			t.Errorf("%d lost, want 2", q.Lost())
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A message that is sent again although the journal has it is kept once, and those without an id as
// often as they are sent, in a term too.
func TestMessagesWithIDsAreKeptOnce(t *testing.T) {
	j := open(t, Config{URL: startCluster(t, maxValue).ClientURL()})
	if err := j.BeginTerm(t.Context(), "test", 1); err != nil {
		t.Fatal(err)
	}
	acked := make(chan error)
	for _, send := range []struct{ text, id string }{{"1", "a"}, {"1", "a"}, {"2", "b"}, {"3", ""}, {"3", ""}} {
		if err := j.AppendAcked("test.fact", []byte(send.text), send.id, func(err error) { acked <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-acked; err != nil {
			t.Fatal(err)
		}
	}
	var kept []string
	if err := j.Past(t.Context(), 1, []string{"test.fact"}, func(_ time.Time, _ string, data []byte) error {
		kept = append(kept, string(data))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "2", "3", "3"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
}

// A cluster whose leader dies while facts are written has each of a Resender's, once and in order,
// as soon as it has another one.
func TestResenderOverTheLossOfALeader(t *testing.T) {
	servers := startThree(t)
	j := open(t, Config{URL: servers[0].ClientURL() + "," + servers[1].ClientURL() + "," + servers[2].ClientURL()})
	q := NewQueue(j, slog.New(slog.DiscardHandler), func(n int) (string, []byte, error) {
		return "test.number", fmt.Append(nil, n), nil
	})
	r := NewResender(q)
	const count = 1000
	for n := range count {
		r.Put(n)
		if n == count/2 {
			leader := slices.IndexFunc(servers, func(s *server.Server) bool {
				return s.JetStreamIsStreamLeader("$G", factsName)
			})
			if leader < 0 {
				t.Fatal("the facts have no leader")
			}
			servers[leader].Shutdown() // with facts on their way
		}
	}
	if err := errors.Join(r.Close(t.Context()), q.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	next := 0
	if err := j.Past(t.Context(), 1, []string{"test.number"}, func(_ time.Time, _ string, data []byte) error {
		var got int
		if err := json.Unmarshal(data, &got); err != nil || got != next {
			return fmt.Errorf("%s, want %d", data, next)
		}
		next++
		return nil
	}); err != nil || next != count {
		t.Errorf("%d facts of %d: %v", next, count, err)
	}
}
