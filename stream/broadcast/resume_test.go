package broadcast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/stream"
)

// shelf is a history in memory.
type shelf struct {
	mu     sync.Mutex
	events []stream.Event
	fails  error
	asked  int
	// before, if there is one, is called before each answer, so that a test can let things happen at
	// that moment.
	before func(asked int)
	// after is the same after what is answered was read.
	after func(asked int)
}

func (s *shelf) store(events []stream.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
}

// After implements History.
func (s *shelf) After(_ context.Context, id uint64, limit int) ([]stream.Event, error) {
	s.mu.Lock()
	s.asked++
	asked, before := s.asked, s.before
	s.mu.Unlock()
	if before != nil {
		before(asked)
	}
	s.mu.Lock()
	begin, _ := slices.BinarySearchFunc(s.events, id+1, func(e stream.Event, id uint64) int { return int(e.ID) - int(id) })
	answer, after := slices.Clone(s.events[begin:min(begin+limit, len(s.events))]), s.after
	s.mu.Unlock()
	if after != nil {
		after(asked)
	}
	return answer, s.fails
}

// A listener that comes from an instance which is ahead of this one gets nothing twice: neither
// what is in the history, nor what is published until this one has caught up.
func TestResumeAtAnInstanceThatIsBehind(t *testing.T) {
	for _, row := range []struct {
		name           string
		stored, later  []stream.Event
		had, newest    uint64
		first, overall string
	}{
		{"three behind", events(1, 2), events(3, 7), 5, 7, "[]", "[6 7]"},
		{"as far", events(1, 5), events(6, 7), 5, 5, "[]", "[6 7]"},
		{"it has nothing yet", nil, events(1, 7), 5, 7, "[]", "[6 7]"},
		{"another journal's id", events(1, 2), events(3, 4), 50, 4, "[]", "[3 4]"},
		{"the journal is away", events(1, 2), events(3, 4), 50, 0, "[]", "[3 4]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			past := &shelf{}
			past.store(row.stored)
			b := New(Config{History: past, PerListener: 1,
				Newest: func(context.Context) uint64 { return row.newest }})
			l := listen(t, b, Subscription{IDs: true, Resume: true, After: row.had})
			got := ids(heard(t, l))
			if fmt.Sprint(got) != row.first {
				t.Errorf("first %v, want %s", got, row.first)
			}
			past.store(row.later)
			b.Publish(row.later)
			b.releaseGathered()
			if got = append(got, ids(heard(t, l))...); fmt.Sprint(got) != row.overall {
				t.Errorf("in all %v, want %s", got, row.overall)
			}
		})
	}
}

// A listener that comes back hears first what it missed, then what comes, whatever it says that it
// had.
func TestResume(t *testing.T) {
	for _, row := range []struct {
		name           string
		stored         []stream.Event
		published      []stream.Event // before it comes, also stored
		had            uint64
		later          []stream.Event
		first, overall string
	}{
		{"nothing missed", nil, events(1, 3), 3, events(4, 5), "[]", "[4 5]"},
		{"two missed", nil, events(1, 3), 1, events(4, 4), "[2 3]", "[2 3 4]"},
		{"all from the beginning", nil, events(1, 3), 0, events(4, 4), "[1 2 3]", "[1 2 3 4]"},
		{"nothing there", nil, nil, 0, events(1, 1), "[]", "[1]"},
		{"missed before the restart", events(1, 5), nil, 3, events(6, 6), "[4 5]", "[4 5 6]"},
		{"missed before and after the restart", events(1, 5), events(6, 7), 4, events(8, 8), "[5 6 7]", "[5 6 7 8]"},
		{"the last before the restart", events(1, 5), nil, 5, events(6, 6), "[]", "[6]"},
		{"stored, but published later", events(1, 5), nil, 3, events(4, 6), "[4 5]", "[4 5 6]"},
		{"had what this process has yet to publish", events(1, 5), nil, 5, events(4, 6), "[]", "[6]"},
		{"pruned", events(90, 95), nil, 3, events(96, 96), "[90 91 92 93 94 95]", "[90 91 92 93 94 95 96]"},
		{"the history has begun anew", events(1, 2), events(3, 3), 1_000_000, events(4, 4), "[]", "[4]"},
		{"the greatest number there is", nil, events(1, 1), 1<<64 - 1, events(2, 2), "[]", "[2]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			past := &shelf{}
			b := New(Config{History: past, PerListener: 1})
			past.store(row.stored)
			past.store(row.published)
			b.Publish(row.published)
			l := listen(t, b, Subscription{IDs: true, Resume: true, After: row.had})
			got := ids(heard(t, l))
			if fmt.Sprint(got) != row.first {
				t.Errorf("first %v, want %s", got, row.first)
			}
			b.Publish(row.later)
			b.releaseGathered()
			if got = append(got, ids(heard(t, l))...); fmt.Sprint(got) != row.overall {
				t.Errorf("in all %v, want %s", got, row.overall)
			}
		})
	}
}

// A past that goes over many pages, and grows while it is read.
func TestResumeOverManyPages(t *testing.T) {
	for _, published := range []uint64{0, 250, 1000} { // of the 1000 events that are stored
		past := &shelf{}
		b := New(Config{History: past, PerListener: 1})
		past.store(events(1, 1000))
		b.Publish(events(1, published))
		last := uint64(1000)
		grow := func(int) {
			last++
			past.store(events(last, last))
			b.Publish(events(published+1, last))
		}
		past.before = grow
		l := listen(t, b, Subscription{IDs: true, Resume: true, After: 5})
		got := ids(heard(t, l))
		grow(0)
		b.releaseGathered()
		got = append(got, ids(heard(t, l))...)
		if want := last - 5; last < 1010 || uint64(len(got)) != want || got[0] != 6 || got[len(got)-1] != last ||
			!slices.IsSorted(got) {
			t.Errorf("%d events from %d to %d, want %d from 6 to %d", len(got), got[0], got[len(got)-1], want, last)
		}
		if s := b.Stats(); s.Resumed != 1 || s.Delivered != uint64(len(got)) {
			t.Errorf("%+v", s)
		}
	}
}

// Between the last page that was read and the moment in which it joins much may be published.
func TestResumeWhileMuchIsPublished(t *testing.T) {
	past := &shelf{}
	b := New(Config{History: past, PerListener: 1})
	past.store(events(1, 5))
	past.after = func(asked int) {
		if asked == 1 {
			past.store(events(6, 3*pageEvents))
			b.Publish(events(1, 3*pageEvents))
		}
	}
	l := listen(t, b, Subscription{IDs: true, Resume: true})
	if got := ids(heard(t, l)); len(got) != 3*pageEvents || !consecutive(got) {
		t.Errorf("heard %d events", len(got))
	}
}

// However quickly the past grows, a listener that has joined reads it only up to there.
func TestResumeEnds(t *testing.T) {
	past := &shelf{}
	b := New(Config{History: past, PerListener: 1})
	last := uint64(0)
	grow := func(int) {
		if last < 50*pageEvents {
			past.store(events(last+1, last+pageEvents))
			b.Publish(events(last+1, last+pageEvents))
			last += pageEvents
		}
	}
	past.after = grow
	l := listen(t, b, Subscription{IDs: true, Resume: true})
	got := ids(heard(t, l))
	b.releaseGathered()
	got = append(got, ids(heard(t, l))...)
	if past.asked > 3 || uint64(len(got)) != last || !consecutive(got) {
		t.Errorf("heard %d events of %d, the history was asked %d times", len(got), last, past.asked)
	}
}

// Who has far to go through the past leaves nothing in the list meanwhile, and is not cut.
func TestResumeIsNotBehind(t *testing.T) {
	past := &shelf{}
	b := New(Config{History: past, PerListener: 1, QueueBytes: 1})
	past.store(events(1, 1000))
	b.Publish(events(1, 1000))
	l := listen(t, b, Subscription{IDs: true, Resume: true})
	for id := uint64(1001); id < 1020; id++ {
		past.store(events(id, id))
		b.Publish(events(id, id))
		b.releaseGathered()
	}
	if got := ids(heard(t, l)); len(got) != 1019 || b.Stats().Cut != 0 {
		t.Errorf("heard %d, %d cut", len(got), b.Stats().Cut)
	}
}

// An event that is too long for the stream is left out of the past too.
func TestResumeLeavesOutWhatDoesNotFit(t *testing.T) {
	past := &shelf{}
	b := New(Config{History: past, MaxEventBytes: 100})
	past.store([]stream.Event{event(1), {ID: 2, JSON: make([]byte, 101)}, event(3)})
	if got := fmt.Sprint(ids(heard(t, listen(t, b, Subscription{IDs: true, Resume: true})))); got != "[1 3]" {
		t.Errorf("heard %s", got)
	}
}

// A history that fails is told to the listener, who can come back with what it has; its place is
// free again.
func TestResumeFails(t *testing.T) {
	broken := errors.New("disk is gone")
	past := &shelf{fails: broken}
	b := New(Config{History: past})
	refused := (*stream.Refused)(nil)
	_, err := b.Listen(t.Context(), Subscription{IDs: true, Resume: true})
	if !errors.Is(err, broken) || !errors.As(err, &refused) || refused.ID != stream.NotReady.ID ||
		b.Stats().Listeners != 0 {
		t.Errorf("%v, %+v", err, b.Stats())
	}
	past.fails = nil
	past.store(events(1, 150))
	l := listen(t, b, Subscription{IDs: true, Resume: true})
	if frames, err := l.Take(); len(ids(string(frames))) != pageEvents || err != nil {
		t.Fatalf("%d, %v", len(frames), err)
	}
	past.fails = broken
	if _, err := l.Take(); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// While somebody publishes, listeners come and go as they like, each with the last event that it
// had, and in the end each has heard every event since its first one once, in order.
func TestResumeUnderConcurrentPublish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.SliceOfN(rapid.Uint64Range(1, 300), 1, 20).Draw(t, "batches")
		patience := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 6), 1, 8), 1, 5).Draw(t,
			"chunks until a listener leaves, by listener")
		before := rapid.Uint64Range(0, 150).Draw(t, "stored before the start")
		past := &shelf{}
		past.store(events(1, before))
		b := New(Config{History: past, PerListener: 1})

		var all sync.WaitGroup
		last := before
		for _, n := range batches {
			last += n
		}
		for _, visits := range patience {
			all.Go(func() {
				if heard, err := follow(b, visits, last); err != nil || uint64(len(heard)) != last || !consecutive(heard) {
					t.Errorf("%d events, the last should be %d: %v, %v", len(heard), last, heard, err)
				}
			})
		}
		all.Go(func() {
			next := before + 1
			for _, n := range batches {
				batch := events(next, next+n-1)
				past.store(batch)
				b.Publish(batch)
				next += n
			}
		})
		all.Wait()
	})
}

func consecutive(all []uint64) bool {
	for i := range all {
		if all[i] != uint64(i)+1 {
			return false
		}
	}
	return true
}

// follow hears all events up to the last, from the first that there is. It leaves after as many
// chunks as each visit says and comes back; it stays at its last visit.
func follow(b *Broadcast, visits []int, last uint64) (all []uint64, err error) {
	had := uint64(0)
	for i, patience := range visits {
		l, err := b.Listen(context.Background(), Subscription{IDs: true, Resume: true, After: had})
		if err != nil {
			return all, err
		}
		for had < last && (patience > 0 || i == len(visits)-1) {
			<-l.Ready()
			frames, err := l.Take()
			if err != nil && !errors.Is(err, io.EOF) {
				return all, err
			}
			if got := ids(string(frames)); len(got) > 0 {
				all, had = append(all, got...), got[len(got)-1]
			}
			patience--
		}
		l.Leave()
	}
	return all, nil
}
