package send

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

var (
	keyA = uuid.UUID{15: 0xa}
	keyB = uuid.UUID{15: 0xb}
)

func waitingIn(l *sendQueue) (orders []uint64) {
	for _, j := range l.waiting {
		orders = append(orders, j.order)
	}
	return orders
}

func TestFullLineGivesUpTheOldestOrder(t *testing.T) {
	l := newSendQueue(Builder{}, 3)
	l.add(job{order: 1, cancel: true})
	l.add(job{order: 2})
	l.add(job{order: 3})
	if gone, _ := l.add(job{order: 4}); gone == nil || gone.order != 2 {
		t.Errorf("%+v left, want order 2: it is older than 3, and 1 is a cancellation", gone)
	}
	if got := waitingIn(l); !slices.Equal(got, []uint64{1, 3, 4}) || l.dropped != 1 {
		t.Errorf("%v wait and %d were dropped, want 1 3 4 and one", got, l.dropped)
	}
	l = newSendQueue(Builder{}, 1)
	l.add(job{order: 1, cancel: true})
	if gone, _ := l.add(job{order: 2}); gone == nil || gone.order != 1 {
		t.Errorf("%+v left, want the cancellation, since nothing else waits", gone)
	}
}

func TestCancelInLine(t *testing.T) {
	for name, c := range map[string]struct {
		running  uuid.UUID // key of a job that is just being sent
		has      bool      // the caller knows that the builder has it
		wantMoot int
		waiting  []uint64
	}{
		"only waits":            {wantMoot: 2, waiting: []uint64{3, 4}},
		"the builder has it":    {has: true, wantMoot: 2, waiting: []uint64{3, 4, 2}},
		"is just being sent":    {running: keyA, wantMoot: 2, waiting: []uint64{3, 4, 2}},
		"another is being sent": {running: keyB, wantMoot: 2, waiting: []uint64{3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newSendQueue(Builder{}, 10)
			if c.running != uuid.Nil {
				l.add(job{order: 1, key: c.running})
				l.take()
			}
			l.add(job{order: 1, key: keyA})
			l.add(job{order: 2, key: keyA})
			l.add(job{order: 3, key: keyA}) // newer than what is cancelled: the signer has begun anew
			l.add(job{order: 4, key: keyB})
			moot, gone, ok := l.cancel(job{order: 2, key: keyA, cancel: true}, c.has)
			if len(moot) != c.wantMoot || gone != nil || !ok {
				t.Errorf("%d are moot, %v left, %v; want %d", len(moot), gone, ok, c.wantMoot)
			}
			if got := waitingIn(l); !slices.Equal(got, c.waiting) {
				t.Errorf("%v wait, want %v", got, c.waiting)
			}
		})
	}
}

// Whatever happens to a queue: it never holds more than its limit, no two jobs of a key run at
// once, jobs of a key and jobs without one are taken in their order, and each that was added is
// taken, waits, or was given back; none of them twice.
func TestLineKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		l := newSendQueue(Builder{}, limit)
		var (
			next    uint64
			running []job
			newest  = map[uuid.UUID]uint64{}
			seen    = map[uint64]string{}
		)
		end := func(id uint64, how string) {
			if before := seen[id]; before != "" {
				t.Fatalf("job %d is %s after it was %s", id, how, before)
			}
			seen[id] = how
		}
		free := func() bool {
			return slices.ContainsFunc(l.waiting, func(j job) bool { return j.key == uuid.Nil || l.running[j.key] == 0 })
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				next++
				gone, _ := l.add(job{order: next, key: rapid.SampledFrom([]uuid.UUID{uuid.Nil, keyA, keyB}).Draw(t, "key")})
				if gone != nil {
					end(gone.order, "dropped")
				}
			},
			"take": func(t *rapid.T) {
				if !free() {
					t.Skip("nothing to take")
				}
				j, _ := l.take()
				if j.order <= newest[j.key] {
					t.Fatalf("job %d is taken after %d", j.order, newest[j.key])
				}
				if j.key != uuid.Nil && slices.ContainsFunc(running, func(r job) bool { return r.key == j.key }) {
					t.Fatalf("two of key %s run", j.key)
				}
				newest[j.key], running = j.order, append(running, j)
				end(j.order, "taken")
			},
			"done": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				l.finish(running[i])
				running = slices.Delete(running, i, i+1)
			},
			"cancel": func(t *rapid.T) {
				next++
				moot, gone, _ := l.cancel(job{order: next, key: keyA, cancel: true}, rapid.Bool().Draw(t, "has"))
				for _, m := range moot {
					end(m.order, "moot")
				}
				if gone != nil {
					end(gone.order, "dropped")
				}
			},
			"": func(t *rapid.T) {
				if len(l.waiting) > limit {
					t.Fatalf("%d wait, the limit is %d", len(l.waiting), limit)
				}
				if len(running) == 0 && len(l.running) != 0 {
					t.Fatalf("nothing runs, and the line remembers %v", l.running)
				}
			},
		})
	})
}
