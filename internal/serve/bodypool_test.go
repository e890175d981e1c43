package serve

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// sum is what a room holds by its bodies.
func sum(r *BodyPool) (held int64, bodies int) {
	for _, p := range r.senders {
		held += p.held
		bodies += p.bodies
	}
	return held, bodies
}

// Whatever bodies come, grow, are read and leave, in whatever order: a room never holds more than
// it has, nobody holds more than a share with more than one body, what is cut off holds nothing,
// and at the end all is given back.
func TestRoomProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := NewBodyPool(rapid.Int64Range(1, 2000).Draw(t, "bytes"), rapid.Int64Range(1, 2000).Draw(t, "share"))
		var bodies []*reservation
		pick := func() int { return rapid.IntRange(0, len(bodies)-1).Draw(t, "body") }
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch step := rapid.SampledFrom([]string{"enter", "take", "take", "whole", "back", "leave"}).Draw(t, "step"); {
			case step == "enter" || len(bodies) == 0:
				bodies = append(bodies, room.enter(fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "sender")), func() {}))
			case step == "take":
				body := bodies[pick()]
				err := body.take(t.Context(), rapid.Int64Range(0, 500).Draw(t, "more"), 0)
				if err == nil && body.cut {
					t.Fatal("a body that was cut off was given room")
				}
				if err != nil && !errors.Is(err, ErrBusy) {
					t.Fatal(err)
				}
			case step == "whole":
				body := bodies[pick()]
				body.whole(rapid.Int64Range(0, body.held).Draw(t, "kept"))
			case step == "back":
				body := bodies[pick()]
				body.giveBack(rapid.Int64Range(0, body.held).Draw(t, "less"))
			case step == "leave":
				i := pick()
				bodies[i].leave()
				bodies = append(bodies[:i], bodies[i+1:]...)
			}
			held, inside := sum(room)
			if held != room.held || held > room.bytes || inside != len(bodies) {
				t.Fatalf("%d held of %d, %d by %d bodies of %d", room.held, room.bytes, held, inside, len(bodies))
			}
			for _, p := range room.senders {
				if p.held > room.share && alone(p, bodies) == nil {
					t.Fatalf("%s holds %d with several bodies, its share is %d", p.name, p.held, room.share)
				}
			}
			for _, body := range bodies {
				if body.held < 0 || body.cut && body.held != 0 {
					t.Fatalf("%+v", body)
				}
			}
		}
		for _, body := range bodies {
			body.leave()
		}
		if room.held != 0 || len(room.senders) != 0 || room.waiting.Len() != 0 {
			t.Fatalf("%d bytes, %d senders, %d claims are never given back", room.held, len(room.senders), room.waiting.Len())
		}
	})
}

// alone is the only body of a sender that holds anything, nil if there are several.
func alone(p *sender, bodies []*reservation) (only *reservation) {
	for _, body := range bodies {
		if body.sender == p && body.held > 0 {
			if only != nil {
				return nil
			}
			only = body
		}
	}
	return only
}

// A sender that takes all it can get keeps nobody waiting: it has its share, and no more.
func TestShareHolds(t *testing.T) {
	room := NewBodyPool(1000, 250)
	for range 100 {
		greedy := room.enter("greedy", func() {})
		_ = greedy.take(t.Context(), 50, 0) // fails once the share is full
	}
	if room.Held() != 250 {
		t.Errorf("it holds %d", room.Held())
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := room.enter("honest", func() {}).take(t.Context(), 200, time.Second); err != nil ||
			!time.Now().Equal(began) {
			t.Errorf("another gets %v after %v", err, time.Since(began))
		}
	})
}

// When many fill a room together, who has waited long enough gets the bytes of who holds most; what
// an operation works on is left alone, and who holds as much as the others is refused.
func TestWhoHoldsMostIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewBodyPool(1000, 400)
		interrupted := map[string]int{}
		enter := func(name string, bytes int64) *reservation {
			body := room.enter(name, func() { interrupted[name]++ })
			if err := body.take(t.Context(), bytes, 0); err != nil {
				t.Fatal(err)
			}
			return body
		}
		working := enter("a", 400)
		working.whole(400)
		slow := enter("b", 350)
		enter("c", 250)
		honest := room.enter("honest", func() {})
		began := time.Now()
		if err := honest.take(t.Context(), 200, time.Second); err != nil || time.Since(began) != time.Second {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if len(interrupted) != 1 || interrupted["b"] != 1 || slow.whole(350) || room.Held() != 850 {
			t.Errorf("interrupted: %v, %d held", interrupted, room.Held())
		}
		if err := slow.take(t.Context(), 1, time.Second); !errors.Is(err, ErrBusy) {
			t.Errorf("who was cut off gets %v", err)
		}
		if err := room.enter("d", func() {}).take(t.Context(), 300, time.Second); !errors.Is(err, ErrBusy) {
			t.Errorf("who would hold most gets %v", err)
		}
	})
}

// A body may be larger than a share, if it is its sender's only one.
func TestOneBodyMayBeBeyondTheShare(t *testing.T) {
	room := NewBodyPool(1000, 100)
	one, other := room.enter("a", func() {}), room.enter("a", func() {})
	if err := one.take(t.Context(), 900, 0); err != nil {
		t.Error(err)
	}
	if err := other.take(t.Context(), 50, 0); !errors.Is(err, ErrBusy) {
		t.Errorf("a second gets %v", err)
	}
}

// Those who wait get what becomes free, the oldest first, and one whose share is full keeps nobody
// behind it waiting. Only so many can wait.
func TestWaitingOnesAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewBodyPool(1000, 500)
		first, second := room.enter("a", func() {}), room.enter("b", func() {})
		for _, body := range []*reservation{first, second} {
			if err := body.take(t.Context(), 500, 0); err != nil {
				t.Fatal(err)
			}
		}
		got := make(chan string, 3)
		for _, name := range []string{"a", "c", "d"} { // a's share is full
			go func() {
				if err := room.enter(name, func() {}).take(t.Context(), 200, time.Minute); err == nil {
					got <- name
				}
			}()
			synctest.Wait()
		}
		second.leave()
		synctest.Wait()
		if served := []string{<-got, <-got}; slices.Contains(served, "a") || len(got) > 0 {
			t.Errorf("%v were served, and %d more", served, len(got))
		}
		first.leave()
		synctest.Wait()
		if len(got) == 0 {
			t.Error("who waited for its own share is not served")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		room := NewBodyPool(10, 10)
		if err := room.enter("full", func() {}).take(t.Context(), 10, 0); err != nil {
			t.Fatal(err)
		}
		refused := make(chan error, 100)
		for range 100 {
			go func() { refused <- room.enter("crowd", func() {}).take(t.Context(), 11, time.Second) }()
		}
		synctest.Wait()
		if len(refused) != 100-maxSenderWaiting {
			t.Errorf("%d were refused at once", len(refused))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(refused) != 100 || room.waiting.Len() != 0 {
			t.Errorf("%d were refused, %d wait", len(refused), room.waiting.Len())
		}
	})
}
