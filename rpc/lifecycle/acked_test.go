package lifecycle

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/pool"
)

var errNotKept = errors.New("the journal does not answer")

// An order is answered, simulated and sent when the journal has it, not before; nor does a block
// that comes meanwhile change that.
func TestNothingIsSentBeforeItIsKept(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.set(func() { s.journal = make(chan struct{}) })
		answered := false
		go func() {
			s.submit(orderOf(alice, 1, 101, 110))
			answered = true
		}()
		s.want("accepted 1")
		s.mine(101)
		s.want("index 101")
		if answered {
			t.Error("answered without the journal")
		}
		close(s.journal)
		s.want("simulated 1 for 102", "send 1 for 102", "sent 1 to b")
		if !answered {
			t.Error("not answered")
		}
		s.mine(102)
		s.want("index 102", "simulated 1 for 103", "send 1 for 103", "sent 1 to b") // once, as ever
	})
}

// What the journal does not keep is refused, ended, and never sent; the next one is taken as if it
// had not been there.
func TestWhatIsNotKeptIsRefusedAndNeverSent(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.set(func() { s.unacked = errNotKept })
		if _, err := s.lifecycle.Submit(time.Now(), orderOf(alice, 1, 101, 110)); !errors.Is(err, errNotKept) {
			t.Errorf("%v", err)
		}
		s.want("accepted 1", "forget 1 at", "ended 1 failed")
		s.mine(101)
		s.want("index 101")
		s.set(func() { s.unacked = nil })
		s.submit(orderOf(alice, 1, 101, 110))
		s.want("accepted 2", "simulated 2 for 102", "send 2 for 102", "sent 2 to b")
	})
}

// A new version that is not kept ends, and the old one has ended: builders are asked to forget it.
func TestVersionThatIsNotKeptEndsTheOldOne(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 101, 110, 7))
		s.takeLines()
		s.set(func() { s.unacked = errNotKept })
		if _, err := s.lifecycle.Submit(time.Now(), version(alice, 2, 101, 110, 7)); !errors.Is(err, errNotKept) {
			t.Errorf("%v", err)
		}
		s.want("ended 1 cancelled", "accepted 2", "forget 2 at b", "ended 2 failed")
	})
}

// Who repeats an order while the first one is on its way to the journal is promised no more than
// that one, and it is sent once.
func TestRepetitionWaitsForTheFirst(t *testing.T) {
	for _, unkept := range []error{nil, errNotKept} {
		script(t, func(s *lifecycleTest) {
			s.set(func() { s.journal = make(chan struct{}) })
			answers := make(chan error, 3)
			for _, last := range []uint64{110, 110, 111} { // the third one wants a longer window
				go func() {
					_, err := s.lifecycle.Submit(time.Now(), orderOf(alice, 1, 101, last))
					answers <- err
				}()
				synctest.Wait()
			}
			s.want("accepted 1", "extended 1")
			if len(answers) > 0 {
				t.Error("answered without the journal")
			}
			s.set(func() { s.unacked = unkept })
			close(s.journal)
			for range 3 {
				if err := <-answers; !errors.Is(err, unkept) {
					t.Errorf("%v, want %v", err, unkept)
				}
			}
			if unkept == nil {
				s.want("simulated 1 for 101", "send 1 for 101", "sent 1 to b")
			} else {
				s.want("forget 1 at", "ended 1 failed")
			}
		})
	}
}

// A cancel that the journal does not ack in time is refused, counts all the same, and is brought
// simulateExtended with the signer's next one.
func TestCancelThatIsNotKeptIsBroughtAgain(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		order.Kind = rpc.KindPrivate
		s.submit(order)
		s.takeLines()
		s.set(func() { s.unacked = errNotKept })
		if _, err := s.lifecycle.CancelPrivate(time.Now(), alice, order.Hash()); !errors.Is(err, errNotKept) {
			t.Errorf("%v", err)
		}
		if err := s.lifecycle.Cancel(time.Now(), alice, uuid.UUID{7}); !errors.Is(err, errNotKept) {
			t.Errorf("%v", err)
		}
		s.want("forget 1 at b", "ended 1 cancelled", "ended 1 cancelled")
		s.mine(101)
		s.want("index 101")
		s.set(func() { s.unacked = nil })
		if !s.cancelPrivate(alice, order) {
			t.Error("it is not cancelled now")
		}
		s.want("ended 1 cancelled")
		if s.cancelPrivate(alice, order) {
			t.Error("it is cancelled twice")
		}
		s.want()
	})
}

// When strangers have half of their room, a stranger's signature that belongs to nobody is refused
// at once; before, it is found at the simulation.
func TestJunkSignaturesAreRefusedInACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.lifecycle.Pool = pool.New(pool.Config{MaxNewcomers: 2, Class: func(common.Address) int { return 0 }})
		s.run()
		junk := func(number uint64) *rpc.Order {
			order := orderOf(alice, number, 110, 110)
			order.Bundle.Elements[0].Tx.From = common.Address{} // to be recovered, from a signature that is none
			return order
		}
		s.submit(junk(1))
		refused := (*rpc.Refused)(nil)
		if _, err := s.lifecycle.Submit(time.Now(), junk(2)); !errors.As(err, &refused) ||
			refused.ID != rpc.BundleUndecodable.ID {
			t.Errorf("junk in a crowd: %v", err)
		}
		s.submit(orderOf(bob, 3, 110, 110))
		if _, err := s.lifecycle.Submit(time.Now(), orderOf(carol, 4, 110, 110)); !errors.As(err, &refused) ||
			refused.ID != rpc.Overloaded.ID {
			t.Errorf("one stranger too many: %v", err)
		}
	})
}

// Who cancels what another cancel has just ended is not told that there is nothing to end before
// the journal has that: if it is lost, the order lives on. A later cancel brings all that were
// lost.
func TestSecondCancelWaitsForTheFirst(t *testing.T) {
	for _, unkept := range []error{nil, errNotKept} {
		script(t, func(s *lifecycleTest) {
			orders := []*rpc.Order{orderOf(alice, 1, 101, 110), orderOf(alice, 2, 101, 111)}
			for _, order := range orders {
				order.Kind = rpc.KindPrivate
				s.submit(order)
			}
			s.takeLines()
			s.set(func() { s.journal = make(chan struct{}) })
			answers := make(chan error, 3)
			for _, order := range []*rpc.Order{orders[0], orders[0], orders[1]} {
				go func() {
					_, err := s.lifecycle.CancelPrivate(time.Now(), alice, order.Hash())
					answers <- err
				}()
				synctest.Wait()
			}
			if len(answers) > 0 {
				t.Error("answered without the journal")
			}
			s.set(func() { s.unacked = unkept })
			close(s.journal)
			for range 3 {
				if err := <-answers; !errors.Is(err, unkept) {
					t.Errorf("%v, want %v", err, unkept)
				}
			}
			s.takeLines()
			s.set(func() { s.unacked, s.journal = nil, nil })
			if again := s.cancelPrivate(alice, orders[0]); again != (unkept != nil) {
				t.Errorf("it is cancelled once more: %t", again)
			}
			if unkept == nil {
				s.want()
			} else {
				s.want("ended 1 cancelled", "ended 2 cancelled")
			}
		})
	}
}

// A status tells only what the journal has: of an order, and of its cancel.
func TestStatusWaitsForTheJournal(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		order.Kind = rpc.KindPrivate
		states := make(chan string, 1)
		ask := func() string {
			go func() {
				status, err := s.lifecycle.KeptStatus(alice, order.Hash())
				if err != nil {
					states <- err.Error()
					return
				}
				states <- string(status.State)
			}()
			synctest.Wait()
			select {
			case state := <-states:
				return state
			default:
				return "waits"
			}
		}
		during := func(what func()) {
			held := make(chan struct{})
			s.set(func() { s.journal = held })
			go what()
			synctest.Wait()
			if got := ask(); got != "waits" {
				t.Errorf("before the journal has it: %s", got)
			}
			close(held)
			synctest.Wait()
			s.set(func() { s.journal = nil })
		}
		during(func() { s.submit(order) })
		if got := <-states; got != string(rpc.Submitted) {
			t.Errorf("it came as %s", got)
		}
		if got := ask(); got != string(rpc.Sent) {
			t.Errorf("then it is %s", got)
		}
		during(func() { s.cancelPrivate(alice, order) })
		if got := <-states; got != string(rpc.Cancelled) {
			t.Errorf("it was %s", got)
		}
	})
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		order.Kind = rpc.KindPrivate
		s.submit(order)
		s.set(func() { s.unacked = errNotKept })
		if _, err := s.lifecycle.CancelPrivate(time.Now(), alice, order.Hash()); err == nil {
			t.Error("a cancel is answered that is not kept")
		}
		if status, err := s.lifecycle.KeptStatus(alice, order.Hash()); err == nil {
			t.Errorf("a cancel that is not kept is told: %+v", status)
		}
		s.set(func() { s.unacked = nil })
		s.cancelPrivate(alice, order)
		if status, err := s.lifecycle.KeptStatus(alice, order.Hash()); err != nil || status.State != rpc.Cancelled {
			t.Errorf("%+v, %v", status, err)
		}
	})
}
