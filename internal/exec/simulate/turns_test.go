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
)

// line is a room in which every simulation takes a second of the bubble's time, and writes down when it begins.
type line struct {
	*Turns
	mu    sync.Mutex
	began []string // names in order
}

// send has a simulation wait under a signer's one-letter name; "A" is one of high reputation. It returns when it waits or runs.
func (l *line) send(ctx context.Context, names string) {
	for _, name := range strings.Split(names, "") {
		go func() {
			high := name == strings.ToUpper(name)
			err := l.Do(ctx, common.BytesToAddress([]byte(strings.ToLower(name))), high, func(context.Context) {
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
func (l *line) ran() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.began, "")
}

// state is what the turns keep: signers, simulations that wait, places that are free.
func (l *line) state() (signers, waiting, free int) {
	synctest.Wait()
	l.Turns.mu.Lock()
	defer l.Turns.mu.Unlock()
	return len(l.signers), l.waiting, l.free
}

// Signers take turns; each row says who sends, in order, and in which order they run when one may at a time.
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
				l := &line{Turns: NewTurns(TurnOptions{Running: 1})}
				l.send(t.Context(), row.sent)
				time.Sleep(time.Minute)
				if got := l.ran(); got != row.ran {
					t.Errorf("sent %s, ran %s, want %s", row.sent, got, row.ran)
				}
				if signers, waiting, free := l.state(); signers != 0 || waiting != 0 || free != 1 {
					t.Errorf("something is left: %d signers, %d wait, %d free", signers, waiting, free)
				}
			})
		})
	}
}

// A signer with a thousand simulations waiting delays another's one by those that run already, and by no other, at whatever time it comes.
func TestAFloodDelaysNobody(t *testing.T) {
	for _, running := range []int{1, 2, 8} {
		for _, after := range []time.Duration{0, time.Second / 2, 3*time.Second + time.Second/2, 50*time.Second + time.Second/2} {
			synctest.Test(t, func(t *testing.T) {
				l := &line{Turns: NewTurns(TurnOptions{Running: running, WaitingEach: 1000})}
				l.send(t.Context(), strings.Repeat("f", 1000))
				time.Sleep(after)
				before := len(l.ran())
				l.send(t.Context(), "b")
				time.Sleep(time.Second)
				// The simulations that ran are done; b's is among those that took their places.
				if place := strings.Index(l.ran(), "b"); place < before || place >= before+running {
					t.Errorf("%d at once, after %s: b was number %d to begin, %d had begun when it came", running, after, place, before)
				}
				time.Sleep(time.Hour)
				if signers, _, _ := l.state(); signers != 0 || len(l.ran()) != 1001 {
					t.Errorf("%d ran, %d signers are left", len(l.ran()), signers)
				}
			})
		}
	}
}

// Nor can a flood of new signers keep out one who waits: those who come later are in later turns.
func TestAFloodOfSignersKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{Turns: NewTurns(TurnOptions{Running: 1})}
		l.send(t.Context(), "aaa") // one runs, two wait
		for i := range 200 {       // each second two that were never seen before, of high reputation
			for j := range 2 {
				go func() {
					_ = l.Do(t.Context(), common.BytesToAddress([]byte{1, byte(i), byte(j)}), true, func(context.Context) { time.Sleep(time.Second) })
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
		l := &line{Turns: NewTurns(TurnOptions{Running: 1, WaitingEach: 2, Waiting: 3})}
		for _, row := range []struct{ send, began string }{
			{"a", "a"}, {"aa", "a"}, // one runs, two wait
			{"a", "a!"},  // a has enough waiting
			{"b", "a!"},  // b waits
			{"c", "a!!"}, // enough wait in all
		} {
			l.send(t.Context(), row.send)
			if got := l.ran(); got != row.began {
				t.Fatalf("after %s: %s, want %s", row.send, got, row.began)
			}
		}
		none := func(context.Context) { t.Error("it ran") }
		if err := l.Do(t.Context(), common.Address{9}, true, none); !errors.Is(err, ErrBusy) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		if got := l.ran(); got != "a!!baa" {
			t.Errorf("ran %s", got)
		}
	})
}

// Who goes away while it waits leaves its place to others, and does not run.
func TestGoingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{Turns: NewTurns(TurnOptions{Running: 1, WaitingEach: 3})}
		gone, leave := context.WithCancel(t.Context())
		l.send(t.Context(), "ab")
		l.send(gone, "bc")
		l.send(t.Context(), "bc")
		leave()
		if _, waiting, _ := l.state(); waiting != 3 {
			t.Errorf("%d wait", waiting)
		}
		time.Sleep(time.Minute)
		if got := l.ran(); got != "a!!bcb" {
			t.Errorf("ran %s", got)
		}
		if err := l.Do(gone, common.Address{1}, true, func(context.Context) { t.Error("it ran") }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// A simulation that panics gives its place back.
func TestPanicGivesThePlaceBack(t *testing.T) {
	turns := NewTurns(TurnOptions{Running: 1})
	func() {
		defer func() { _ = recover() }()
		_ = turns.Do(t.Context(), common.Address{1}, false, func(context.Context) { panic("in a simulation") })
	}()
	ran := false
	if err := turns.Do(t.Context(), common.Address{1}, false, func(context.Context) { ran = true }); err != nil || !ran {
		t.Errorf("%v, ran %t", err, ran)
	}
}

// Whatever signers do, no more run than may, nothing waits beside a free place, and nothing is left at the end.
func TestTurnsStayBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		running := rapid.IntRange(1, 3).Draw(rt, "running")
		turns := NewTurns(TurnOptions{Running: running, WaitingEach: 3, Waiting: 6})
		type waiting struct {
			signer common.Address
			mine   *turn
		}
		var in []waiting
		granted := func(w waiting) bool {
			select {
			case <-w.mine.granted:
				return true
			default:
				return false
			}
		}
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "come") || len(in) == 0 {
				signer := common.Address{rapid.Byte().Draw(rt, "signer") % 4}
				if mine, err := turns.join(signer, rapid.Bool().Draw(rt, "high")); err == nil {
					in = append(in, waiting{signer, mine})
				}
			} else {
				i := rapid.IntRange(0, len(in)-1).Draw(rt, "which")
				if granted(in[i]) && rapid.Bool().Draw(rt, "finished") {
					turns.finish()
				} else {
					turns.leave(in[i].signer, in[i].mine)
				}
				in = slices.Delete(in, i, i+1)
			}
			runs := 0
			for _, w := range in {
				if granted(w) {
					runs++
				}
			}
			switch waits := len(in) - runs; {
			case runs+turns.free != running, waits != turns.waiting, waits > 6, waits > 0 && turns.free > 0, len(turns.signers) > 4:
				rt.Fatalf("%d run, %d free of %d; %d wait, counted %d; %d signers", runs, turns.free, running, waits, turns.waiting, len(turns.signers))
			case len(in) == 0 && (len(turns.signers) != 0 || len(turns.order) != 0):
				rt.Fatalf("nobody is here, but %d signers are kept", len(turns.signers))
			}
		}
	})
}

// Signers are forgotten though the service is never idle.
func TestSignersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{Turns: NewTurns(TurnOptions{Running: 2})}
		ctx, stop := context.WithCancel(t.Context())
		busy := func(ctx context.Context) { <-ctx.Done() }
		go func() { _ = l.Do(ctx, common.Address{1}, false, busy) }()
		synctest.Wait()
		for i := range 1000 {
			if err := l.Do(t.Context(), common.Address{2, byte(i >> 8), byte(i)}, false, func(context.Context) {}); err != nil {
				t.Fatal(err)
			}
			if signers, _, _ := l.state(); signers > 3 {
				t.Fatalf("after %d, %d signers are kept", i, signers)
			}
		}
		stop()
		synctest.Wait()
	})
}
