package exec

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// turn is something that runs.
type turn struct {
	ticket FlowTicket[int]
	item   int
}

// TestFairQueue: whatever comes, runs and ends, each flow keeps its order; there are never more
// places taken than there are; strangers who may be slow leave one of several to the others, and no
// flow whose work is not known to be fast, whoever it is of, takes more than half; and when all
// that runs has ended, somebody who waits is next.
func TestFairQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 5).Draw(t, "places")
		l := NewFairQueue[int, int](places)
		waiting, running, count := map[int][]int{}, []turn(nil), 0
		fast := map[int]bool{} // whose last work was
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				key := rapid.IntRange(0, 4).Draw(t, "flow")
				count++
				l.Add(key, key < 2, count) // 0 and 1 are known
				waiting[key] = append(waiting[key], count)
			},
			"next": func(t *rapid.T) {
				item, ticket, ok := l.Next()
				if !ok {
					if left := slices.ContainsFunc([]int{0, 1, 2, 3, 4}, func(key int) bool {
						return len(waiting[key]) > 0
					}); left && len(running) == 0 {
						t.Fatal("all places are free, and nobody is next")
					}
					return
				}
				if own := waiting[ticket.Key]; len(own) == 0 || own[0] != item {
					t.Fatalf("%d is next of %v", item, own)
				}
				waiting[ticket.Key] = waiting[ticket.Key][1:]
				running = append(running, turn{ticket, item})
				doubtful, own := 0, 0
				for _, r := range running {
					if r.ticket.doubtful {
						doubtful++
					}
					if r.ticket.Key == ticket.Key {
						own++
					}
				}
				if places > 1 && !fast[ticket.Key] && own > places/2 {
					t.Fatalf("%d of a flow that may be slow run in %d places", own, places)
				}
				if len(running) > places || places > 1 && doubtful > places-1 {
					t.Fatalf("%d run, %d of them of strangers who may be slow, in %d places", len(running), doubtful, places)
				}
			},
			"done": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				took := time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond
				if took > 0 {
					fast[running[i].ticket.Key] = took <= FlowQuantum
				}
				l.Done(running[i].ticket, took)
				running = slices.Delete(running, i, i+1)
			},
			"": func(t *rapid.T) {
				for key, items := range waiting {
					if own, _ := l.Waiting(key, key < 2); own != len(items) {
						t.Fatalf("%d wait in flow %d, counted as %d", len(items), key, own)
					}
				}
			},
		})
	})
}

// However many wait in one flow, whoever comes to another one waits for a single turn of each flow
// at most.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, flows := NewFairQueue[int, int](1), rapid.IntRange(1, 6).Draw(t, "flows")
		run := func() int {
			_, ticket, ok := l.Next()
			if !ok {
				t.Fatal("nobody is next")
			}
			l.Done(ticket, time.Second)
			return ticket.Key
		}
		for key := range flows {
			for i := range 200 {
				l.Add(key, false, i)
			}
		}
		for range rapid.IntRange(0, 100).Draw(t, "turns before") {
			run()
		}
		l.Add(flows, rapid.Bool().Draw(t, "known"), 0)
		for turns := 0; run() != flows; turns++ {
			if turns > flows {
				t.Fatalf("who came last waits for more than %d turns of %d flows", turns, flows)
			}
		}
	})
}
