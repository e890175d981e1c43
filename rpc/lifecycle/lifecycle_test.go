package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// failure is what a simulation finds that does not work out.
func failure(text string, lasting bool) exec.BundleResult {
	return exec.BundleResult{Error: text, Lasting: lasting, ProfitWei: new(uint256.Int), RefundableWei: new(uint256.Int)}
}

// An order for the next block is simulated and sent at once; one for a later block when its block
// is next, and again before each that follows.
func TestOrdersAreSentForTheirBlocks(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(orderOf(alice, 1, 101, 101))
		s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
		s.submit(orderOf(alice, 2, 102, 103))
		s.want("accepted 2")
		s.mine(101)
		s.want("ended 1 expired", "index 101", "simulated 2 for 102", "send 2 for 102", "sent 2 to b")
		s.mine(102)
		s.want("index 102", "simulated 2 for 103", "send 2 for 103", "sent 2 to b")
		s.mine(103)
		s.want("ended 2 expired", "index 103")
	})
}

// A window in time waits for the block that is expected in it.
func TestOrdersAreSentInTheirTime(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		order.Bundle.Window.MinTimestamp = 102 * 12
		s.submit(order)
		s.want("accepted 1")
		s.mine(101)
		s.want("index 101", "simulated 1 for 102", "send 1 for 102", "sent 1 to b")
	})
}

// The same order again changes nothing, and is not simulated again.
func TestRepeatedOrder(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		first := s.submit(orderOf(alice, 1, 101, 102))
		s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
		if again := s.submit(orderOf(alice, 1, 101, 102)); again != first {
			t.Errorf("another order stands: %d", again.ID)
		}
		s.want()
		s.submit(orderOf(alice, 1, 101, 104))
		s.want("extended 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
	})
}

// Nothing is taken before the chain is known, nor what the pool refuses.
func TestRefusedOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		if _, err := s.lifecycle.Submit(time.Now(), orderOf(alice, 1, 101, 101)); !isRefusal(err, rpc.NotReady) {
			t.Errorf("before the beginning: %v", err)
		}
		s.run()
		if _, err := s.lifecycle.Submit(time.Now(), orderOf(alice, 1, 99, 100)); !isRefusal(err, rpc.InvalidInclusion) {
			t.Errorf("too late: %v", err)
		}
		s.want()
	})
}

// A chain whose newest block is its first one, of the time 0, is known all the same.
func TestOrdersOnTheFirstBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.chain = newChain()
		s.chain.add(0)
		s.lifecycle = s.newLifecycle()
		s.run()
		if head := s.lifecycle.Head(); head.Number != 0 || head.Timestamp != 0 {
			t.Fatalf("the chain begins with %+v", head)
		}
		s.submit(orderOf(alice, 1, 1, 1))
		s.want("accepted 1", "simulated 1 for 1", "send 1 for 1", "sent 1 to b")
	})
}

func isRefusal(err error, want rpc.Refusal) bool {
	var refused *rpc.Refused
	return errors.As(err, &refused) && refused.ID == want.ID
}

// What fails is not sent, and is tried again for the next block; a failure that lasts ends it.
func TestFailures(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		s.results[order.Hash()] = failure("tx failed", false)
		s.submit(order)
		s.want("accepted 1", "simulated 1 for 101: tx failed", "forget 1 at")
		s.set(func() { delete(s.results, order.Hash()) })
		s.mine(101)
		s.want("index 101", "simulated 1 for 102", "send 1 for 102", "sent 1 to b")
		s.set(func() { s.results[order.Hash()] = failure("nonce too low", true) })
		s.mine(102)
		s.want("index 102", "simulated 1 for 103: nonce too low", "ended 1 failed", "forget 1 at b")
		s.mine(103)
		s.want("index 103")
		if status := s.lifecycle.Status(alice, order.Hash()); status.State != rpc.Failed ||
			status.Reason != "nonce too low" ||
			len(status.Simulations) != 3 {
			t.Errorf("%+v", status)
		}
	})
}

// A simulation that takes too long is the order's failure; a node that does not answer is not, and
// the order is tried again.
func TestSimulationsThatBreakDown(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.broken = exec.ErrTimeout
		s.submit(orderOf(alice, 1, 101, 101))
		s.want("accepted 1", "simulated 1 for 101: execution aborted (timeout)", "forget 1 at")
		s.set(func() { s.broken = exec.ErrNode })
		s.submit(orderOf(alice, 2, 101, 110))
		s.want("accepted 2")
		s.set(func() { s.broken = nil })
		s.mine(101)
		s.want("index 101", "ended 1 failed", "simulated 2 for 102", "send 2 for 102", "sent 2 to b")
	})
}

// A new version tells nobody of the old one's end until it is sent itself: a builder replaces by
// that.
func TestReplacement(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 101, 110, 7))
		s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
		s.submit(version(alice, 2, 101, 110, 7))
		s.want("ended 1 cancelled", "accepted 2", "simulated 2 for 101", "send 2 for 101", "sent 2 to b")
	})
}

// If the new version fails the old one must go: its signer does not want it any more. Also if the
// failure lasts, and if the new version waits for a later block, when that fails.
func TestReplacementFails(t *testing.T) {
	for name, lasting := range map[string]bool{"for now": false, "for good": true} {
		t.Run(name, func(t *testing.T) {
			script(t, func(s *lifecycleTest) {
				s.submit(version(alice, 1, 101, 110, 7))
				s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
				next := version(alice, 2, 101, 110, 7)
				s.results[next.Hash()] = failure("tx failed", lasting)
				s.submit(next)
				want := []string{"ended 1 cancelled", "accepted 2", "simulated 2 for 101: tx failed"}
				if lasting {
					want = append(want, "ended 2 failed")
				}
				s.want(append(want, "forget 2 at b")...)
			})
		})
	}
}

// Three versions: who has the first learns of the third's cancel, although the second was never
// sent.
func TestManyVersions(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 101, 110, 7))
		s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
		s.submit(version(alice, 2, 105, 110, 7))
		s.submit(version(alice, 3, 106, 110, 7))
		s.want("ended 1 cancelled", "accepted 2", "ended 2 cancelled", "accepted 3")
		s.cancel(alice)
		s.want("forget 3 at b", "ended 3 cancelled")
	})
}

// Status is the newest of what a signer has under a hash, and nobody else's affair.
func TestStatus(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 101)
		s.submit(order)
		s.paid = map[uint64]*uint256.Int{1: uint256.NewInt(77)}
		if s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b"); s.lifecycle.Orders() != 1 {
			t.Errorf("%d orders", s.lifecycle.Orders())
		}
		block := s.mine(101, order)
		s.want("index 101 with 1", "ended 1 landed for 77")
		status := s.lifecycle.Status(alice, order.Hash())
		if status.State != rpc.Landed || status.Block != 101 || status.BlockHash != block.Hash() ||
			status.ValueWei.Uint64() != 77 || s.lifecycle.Orders() != 0 {
			t.Errorf("%+v", status)
		}
		if s.lifecycle.Status(bob, order.Hash()) != nil || s.lifecycle.Status(alice, common.Hash{1}) != nil {
			t.Error("a status for nothing")
		}
	})
}

// Signers take turns: with 1,000 orders of alice in the queue before it, bob's is the third that is
// simulated.
func TestSignersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.lifecycle.Workers, s.hold = 1, make(chan struct{})
		s.run()
		for number := range uint64(1000) {
			s.submit(orderOf(alice, number, 101, 101))
		}
		s.submit(orderOf(bob, 1000, 101, 101))
		s.takeLines()
		for range 3 {
			s.hold <- struct{}{}
		}
		if got := s.takeLines(); strings.Count(got, "send ") != 3 || !strings.Contains(got, "send 1001 for 101") {
			t.Errorf("bob waits behind alice: %s", got)
		}
		close(s.hold)
		if got := strings.Count(s.takeLines(), "send "); got != 998 {
			t.Errorf("%d are sent after the first three", got)
		}
	})
}

// What is recorded is in the pool's order, whoever comes when: each order is accepted, then
// simulated, then sent, and ends once.
func TestFactsAreInOrder(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		const each = 100
		for _, signer := range []common.Address{alice, bob, carol} {
			go func() {
				for n := range uint64(each) {
					if _, err := s.lifecycle.Submit(time.Now(), orderOf(signer, uint64(signer[0])*1000+n, 101, 101)); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		s.takeLines()
		s.mine(101)
		s.takeLines()
		reached := map[uint64]string{}
		step := func(id uint64, from, to string) {
			if reached[id] != from {
				t.Errorf("order %d is %s after %q", id, to, reached[id])
			}
			reached[id] = to
		}
		last := uint64(0)
		for _, fact := range s.past {
			switch f := fact.(type) {
			case rpc.OrderAccepted:
				if f.Order.ID != last+1 {
					t.Errorf("order %d after %d", f.Order.ID, last)
				}
				last = f.Order.ID
				step(last, "", "accepted")
			case rpc.OrderSimulated:
				step(f.ID, "accepted", "simulated")
			case rpc.OrderSent:
				step(f.ID, "simulated", "sent")
			case rpc.OrderEnded:
				step(f.ID, "sent", "ended")
			}
		}
		for id := uint64(1); id <= 3*each; id++ {
			if reached[id] != "ended" {
				t.Error(fmt.Sprint("order ", id, " is ", reached[id]))
			}
		}
	})
}
