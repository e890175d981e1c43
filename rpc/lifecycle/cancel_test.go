package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// A cancel that comes before its order keeps it out for a while.
func TestCancelBeforeTheOrder(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.cancel(alice)
		if _, err := s.lifecycle.Submit(time.Now(), version(alice, 1, 101, 110, 7)); !isRefusal(err, rpc.OrderCancelled) {
			t.Errorf("%v", err)
		}
		s.submit(version(bob, 2, 101, 110, 7)) // is bob's own
		s.want("accepted 1", "simulated 1 for 101", "send 1 for 101", "sent 1 to b")
	})
}

// What waits for its block never reaches anybody.
func TestCancelBeforeTheBlock(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 102, 110, 7))
		s.cancel(alice)
		s.want("accepted 1", "forget 1 at", "ended 1 cancelled")
		s.mine(101)
		s.want("index 101")
	})
}

// The simulation that runs during the cancel comes to nothing, whatever it finds.
func TestCancelDuringTheSimulation(t *testing.T) {
	for name, result := range map[string]bool{"success": true, "failure": false} {
		t.Run(name, func(t *testing.T) {
			script(t, func(s *lifecycleTest) {
				s.hold = make(chan struct{})
				order := version(alice, 1, 101, 110, 7)
				if !result {
					s.results[order.Hash()] = failure("tx failed", true)
				}
				s.submit(order)
				s.want("accepted 1")
				s.cancel(alice)
				s.want("forget 1 at", "ended 1 cancelled")
				close(s.hold)
				s.want()
			})
		})
	}
}

// While the builder is getting it nobody has answered: it is the sender who knows. What the builder
// says then is kept.
func TestCancelDuringTheDelivery(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.silent = true
		s.submit(version(alice, 1, 101, 110, 7))
		s.want("accepted 1", "simulated 1 for 101", "send 1 for 101")
		s.cancel(alice)
		s.want("forget 1 at", "ended 1 cancelled")
		s.told[0](rpc.Delivery{Builder: "b", Block: 101, Error: "no answer"})
		s.want("sent 1 to b")
	})
}

// Who did not answer may have it all the same, and is told.
func TestCancelAfterTheDelivery(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.silent = true
		s.submit(version(alice, 1, 101, 110, 7))
		s.takeLines()
		s.told[0](rpc.Delivery{Builder: "b", Block: 101, Error: "no answer"})
		s.told[0](rpc.Delivery{Builder: "a", Block: 101})
		s.cancel(alice)
		s.want("sent 1 to b", "sent 1 to a", "forget 1 at a b", "ended 1 cancelled")
		s.cancel(alice) // again: there is nothing to tell
		s.want()
	})
}

// Who followed the cancelled order contains its transactions: that goes too, and its builders are
// told.
func TestCancelEndsFollowers(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 101, 110, 7))
		s.takeLines()
		follower := version(bob, 2, 101, 110, 8)
		follower.Follows = 1
		s.submit(follower)
		s.takeLines()
		s.cancel(alice)
		s.want("forget 1 at b", "forget 2 at b", "ended 1 cancelled", "ended 2 cancelled")
	})
}

// A new version ends those who followed the old one: they go at once, and the old one with the new
// one's coming.
func TestReplacementEndsFollowers(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.submit(version(alice, 1, 101, 110, 7))
		s.takeLines()
		follower := version(bob, 2, 101, 110, 8)
		follower.Follows = 1
		s.submit(follower)
		s.takeLines()
		s.submit(version(alice, 3, 101, 110, 7))
		s.want("forget 2 at b", "ended 1 cancelled", "ended 2 cancelled", "accepted 3", "simulated 3 for 101",
			"send 3 for 101", "sent 3 to b")
	})
}

func TestCancelPrivate(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		order.Kind = rpc.KindPrivate
		s.submit(order)
		s.takeLines()
		if s.cancelPrivate(bob, order) {
			t.Error("bob cancels what is alice's")
		}
		s.want()
		if !s.cancelPrivate(alice, order) {
			t.Error("alice cannot cancel")
		}
		s.want("forget 1 at b", "ended 1 cancelled")
		if s.cancelPrivate(alice, order) {
			t.Error("it is cancelled twice")
		}
		s.mine(101)
		s.want("index 101")
	})
}

var (
	sendLine   = regexp.MustCompile(`^send (\d+) for`)
	forgetLine = regexp.MustCompile(`^forget (\d+) at`)
	sharedLine = regexp.MustCompile(`^shared (\d+)$`)
	ackedLine  = regexp.MustCompile(`^acknowledged (\d+)$`)
)

// Whenever the cancel comes, with blocks and new versions in between: no order is sent after its
// cancel was acknowledged, and whoever was sent one is asked to forget it. Run it with -race.
func TestNothingIsSentAfterItsCancel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			script(t, func(s *lifecycleTest) {
				race(s, rand.New(rand.NewPCG(seed, 0)))
				checkCancels(t, strings.Split(s.takeLines(), ", "), s.past)
			})
		})
	}
}

// race has 20 signers send two versions each, and cancel, while a block comes.
func race(s *lifecycleTest, random *rand.Rand) {
	const signers = 20
	block := s.chain.add(101)
	var all sync.WaitGroup
	for i := range uint64(signers) {
		signer, patience := common.Address{byte(i + 1)}, random.IntN(100)
		if random.IntN(2) == 0 {
			s.set(func() { s.results[version(signer, 2*i, 101, 110, 7).Hash()] = failure("tx failed", i%2 == 0) })
		}
		ids := make(chan uint64, 2)
		all.Go(func() {
			defer close(ids)
			for n := range uint64(2) {
				if order, err := s.lifecycle.Submit(time.Now(), version(signer, 2*i+n, 101, 110, 7)); err == nil {
					ids <- order.ID
				}
			}
		})
		all.Go(func() {
			for id := range ids { // the cancel may come late, but it comes after its order
				for range patience {
					runtime.Gosched()
				}
				s.cancel(signer)
				s.write("acknowledged %d", id)
			}
		})
	}
	all.Go(func() { s.chain.news <- block })
	all.Wait()
}

// checkCancels looks through what happened. Versions have one name at builders: who is asked to
// forget one forgets all of them.
func checkCancels(t *testing.T, lines []string, facts []rpc.Fact) {
	t.Helper()
	signers := map[string]common.Address{}
	for _, fact := range facts {
		if f, ok := fact.(rpc.OrderAccepted); ok {
			signers[fmt.Sprint(f.Order.ID)] = f.Order.Signer
		}
	}
	acknowledged, sent := map[string]bool{}, map[common.Address]string{}
	for _, line := range lines {
		if id := sendLine.FindStringSubmatch(line); id != nil {
			if sent[signers[id[1]]] = line; acknowledged[id[1]] {
				t.Errorf("order %s was cancelled: %s", id[1], line)
			}
		}
		if id := forgetLine.FindStringSubmatch(line); id != nil {
			delete(sent, signers[id[1]])
		}
		if id := ackedLine.FindStringSubmatch(line); id != nil {
			acknowledged[id[1]] = true
		}
	}
	for _, line := range sent {
		t.Errorf("nobody is asked to forget it: %s", line)
	}
	if len(acknowledged) < 20 {
		t.Errorf("%d cancels", len(acknowledged))
	}
}
