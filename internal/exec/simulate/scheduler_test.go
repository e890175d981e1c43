package simulate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/exec"
)

// queueTest is a queue in which every simulation takes a second of the bubble's time, and writes
// down when it begins.
type queueTest struct {
	*Scheduler
	mu    sync.Mutex
	began []string // names in order
}

// send has a simulation wait under a signer's one-letter name; "A" is one of high reputation. It
// returns when it waits or runs.
func (l *queueTest) send(ctx context.Context, names string) {
	for _, name := range strings.Split(names, "") {
		go func() {
			high := name == strings.ToUpper(name)
			err := l.Do(ctx, exec.Sender{Signer: common.BytesToAddress([]byte(strings.ToLower(name))), Known: high},
				func(context.Context) {
					l.mu.Lock()
					l.began = append(l.began, name)
					l.mu.Unlock()
					time.Sleep(time.Second)
				})
			if err != nil {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.began = append(l.began, "!")
			}
		}()
		synctest.Wait()
	}
}

// ran is who began so far, once everybody who can has done what he can.
func (l *queueTest) ran() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.began, "")
}

// wait is how many simulations wait.
func (l *queueTest) wait() int {
	synctest.Wait()
	return l.waiting()
}

func (t *Scheduler) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, strangers := t.fair.Waiting(exec.FlowKey{}, false)
	_, known := t.fair.Waiting(exec.FlowKey{}, true)
	return strangers + known
}

// Signers take turns; each row says who sends, in order, and in which order they run when one may
// at a time.
func TestTurns(t *testing.T) {
	for _, row := range []struct{ name, sent, ran string }{
		{"one signer: in order of arrival", "aaa", "aaa"},
		{"two signers that both wait alternate", "aaaabbb", "abababa"},
		{"who comes later joins the turn that is on", "aaaaaab", "abaaaaa"},
		{"three signers", "aaabbbccc", "abcabcabc"},
		{"high reputation goes first in its turn", "abcD", "aDbc"},
		{"but not twice", "abcDDD", "aDbcDD"},
		{"a signer's own simulations stay in order", "aabB", "abBa"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &queueTest{Scheduler: NewScheduler(SchedulerOptions{Running: 1})}
				l.send(t.Context(), row.sent)
				time.Sleep(time.Minute)
				if got := l.ran(); got != row.ran {
					t.Errorf("sent %s, ran %s, want %s", row.sent, got, row.ran)
				}
				if waiting := l.wait(); waiting != 0 {
					t.Errorf("%d wait still", waiting)
				}
			})
		})
	}
}

// A signer with a thousand simulations waiting delays another's one by those that run already, and
// by no other, at whatever time it comes.
func TestAFloodDelaysNobody(t *testing.T) {
	for _, running := range []int{1, 2, 8} {
		for _, after := range []time.Duration{0, time.Second / 2, 3*time.Second + time.Second/2,
			50*time.Second + time.Second/2} {
			synctest.Test(t, func(t *testing.T) {
				l := &queueTest{Scheduler: NewScheduler(SchedulerOptions{Running: running, WaitingEach: 1000, Waiting: 4000})}
				l.send(t.Context(), strings.Repeat("f", 1000))
				time.Sleep(after)
				before := len(l.ran())
				l.send(t.Context(), "b")
				time.Sleep(time.Second)
				// The simulations that ran are done; b's is among those that took their places.
				if place := strings.Index(l.ran(), "b"); place < before || place >= before+running {
					t.Errorf("%d at once, after %s: b was number %d to begin, %d had begun when it came", running, after,
						place, before)
				}
				time.Sleep(time.Hour)
				if len(l.ran()) != 1001 {
					t.Errorf("%d ran", len(l.ran()))
				}
			})
		}
	}
}

// Nor can a flood of new signers keep out one who waits: those who come later are in later turns.
func TestAFloodOfSignersKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &queueTest{Scheduler: NewScheduler(SchedulerOptions{Running: 1})}
		l.send(t.Context(), "aaa") // one runs, two wait
		for i := range 200 {       // each second two that were never seen before, strangers as he is
			for j := range 2 {
				go func() {
					_ = l.Do(t.Context(), exec.Sender{Signer: common.BytesToAddress([]byte{1, byte(i), byte(j)})},
						func(context.Context) {
							time.Sleep(time.Second)
						})
				}()
			}
			synctest.Wait()
			time.Sleep(time.Second)
		}
		if got := l.ran(); got != "aaa" {
			t.Errorf("in 200 seconds %q ran, want all three", got)
		}
		time.Sleep(time.Hour)
	})
}

// What waits is bounded, each signer's and all.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &queueTest{Scheduler: NewScheduler(SchedulerOptions{Running: 1, WaitingEach: 2, Waiting: 6})}
		for _, row := range []struct{ send, began string }{
			{"a", "a"}, {"aa", "a"}, // one runs, two wait
			{"a", "a!"},  // a has enough waiting
			{"b", "a!"},  // b waits
			{"c", "a!!"}, // enough strangers wait
			{"D", "a!!"}, // there is room for who is known
		} {
			l.send(t.Context(), row.send)
			if got := l.ran(); got != row.began {
				t.Fatalf("after %s: %s, want %s", row.send, got, row.began)
			}
		}
		none := func(context.Context) { t.Error("it ran") }
		if err := l.Do(t.Context(), exec.Sender{Signer: common.Address{9}}, none); !errors.Is(err, ErrBusy) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		if got := l.ran(); got != "a!!Dbaa" {
			t.Errorf("ran %s", got)
		}
	})
}

// Who goes away while it waits leaves its place to others, and does not run.
func TestGoingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &queueTest{Scheduler: NewScheduler(SchedulerOptions{Running: 1, WaitingEach: 3})}
		gone, leave := context.WithCancel(t.Context())
		l.send(t.Context(), "ab")
		l.send(gone, "bc")
		l.send(t.Context(), "bc")
		leave()
		if waiting := l.wait(); waiting != 3 {
			t.Errorf("%d wait", waiting)
		}
		time.Sleep(time.Minute)
		if got := l.ran(); got != "a!!bcb" {
			t.Errorf("ran %s", got)
		}
		if err := l.Do(gone, exec.Sender{Signer: common.Address{1}}, func(context.Context) {
			t.Error("it ran")
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// A simulation that panics gives its place back.
func TestPanicGivesThePlaceBack(t *testing.T) {
	turns := NewScheduler(SchedulerOptions{Running: 1})
	func() {
		defer func() { _ = recover() }()
		_ = turns.Do(t.Context(), exec.Sender{Signer: common.Address{1}}, func(context.Context) { panic("in a simulation") })
	}()
	ran := false
	if err := turns.Do(t.Context(), exec.Sender{Signer: common.Address{1}}, func(context.Context) {
		ran = true
	}); err != nil || !ran {
		t.Errorf("%v, ran %t", err, ran)
	}
}

// Whatever signers do, no more run than may, no more wait than may, and who is known does not wait
// beside a free place.
func TestTurnsStayBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		running := rapid.IntRange(1, 3).Draw(rt, "running")
		turns := NewScheduler(SchedulerOptions{Running: running, WaitingEach: 3, Waiting: 6})
		type waiting struct {
			who  exec.Sender
			mine *job
		}
		var in []waiting
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "come") || len(in) == 0 {
				who := exec.Sender{Signer: common.Address{rapid.Byte().Draw(rt, "signer") % 4},
					Known: rapid.Bool().Draw(rt, "known")}
				if !who.Known {
					who.Source = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "source")
				}
				if mine, err := turns.join(who); err == nil {
					in = append(in, waiting{who, mine})
				}
			} else {
				i := rapid.IntRange(0, len(in)-1).Draw(rt, "which")
				if in[i].mine.runs() && rapid.Bool().Draw(rt, "finished") {
					turns.finish(in[i].mine, time.Duration(rapid.IntRange(1, 5000).Draw(rt, "took"))*time.Millisecond)
				} else {
					turns.leave(in[i].who, in[i].mine)
				}
				in = slices.Delete(in, i, i+1)
			}
			runs := 0
			for _, w := range in {
				if w.mine.runs() {
					runs++
				}
			}
			// A flow that waits may become known: its strangers, three at most, are beside the six then.
			if waits := len(in) - runs; runs > running || waits != turns.waiting() || waits > 12 || waits > 0 && runs == 0 {
				rt.Fatalf("%d of %d run; %d wait, counted %d", runs, running, waits, turns.waiting())
			}
		}
	})
}

func (t *job) runs() bool {
	select {
	case <-t.granted:
		return true
	default:
		return false
	}
}

// Eleven hundred keys of one network, each with an endless loop that takes five seconds, are one
// stranger: another one waits for the loop that runs, and who is known waits for nothing.
func TestThrowawayKeysAreOneStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewScheduler(SchedulerOptions{Running: 2})
		refused := 0
		for i := range 1100 {
			who := exec.Sender{Signer: common.Address{1, byte(i >> 8), byte(i)}, Source: "203.0.113.7"}
			go func() {
				if errors.Is(turns.Do(t.Context(), who, func(context.Context) { time.Sleep(5 * time.Second) }), ErrBusy) {
					refused++
				}
			}()
			synctest.Wait()
		}
		if refused != 1100-64-1 {
			t.Errorf("%d are refused, want all but the one that runs and 64 that wait", refused)
		}
		for _, row := range []struct {
			who    exec.Sender
			within time.Duration
		}{
			{exec.Sender{Signer: common.Address{2}, Known: true}, 0},
			{exec.Sender{Signer: common.Address{3}, Source: "198.51.100.1"}, 5 * time.Second},
			{exec.Sender{Signer: common.Address{4}, Source: "198.51.100.2"}, 5 * time.Second},
		} {
			came := time.Now()
			if err := turns.Do(t.Context(), row.who, func(context.Context) { time.Sleep(10 * time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(came) - 10*time.Millisecond; waited > row.within {
				t.Errorf("%v waited %s, want at most %s", row.who, waited, row.within)
			}
		}
		time.Sleep(time.Hour)
	})
}
