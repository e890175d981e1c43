package lifecycle

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

var dave = common.Address{0xd}

// followerOf is an order that follows order 1, with a transaction of a sender.
func followerOf(id uint64, signer, sender common.Address, first, last uint64) *rpc.Order {
	return &rpc.Order{ID: id, Signer: signer, Follows: 1, Bundle: rpc.Bundle{
		Window:   rpc.Window{FirstBlock: first, LastBlock: last},
		Elements: []rpc.Element{{Bundle: &rpc.Bundle{}}, {Tx: &rpc.Transaction{Hash: common.Hash{byte(id)}, From: sender}}},
	}}
}

// Of all orders that follow one of a block the first of each follower is told: by signer, by
// sender, and of all newcomers together.
func TestDisclosure(t *testing.T) {
	high := map[common.Address]bool{alice: true, bob: true, carol: true}
	for name, c := range map[string]struct {
		orders []*rpc.Order
		ended  map[uint64]uint64 // at which head
		told   map[uint64]string // by block: a digit for each order that is told
	}{
		"one": {
			orders: []*rpc.Order{followerOf(2, alice, alice, 101, 102)},
			told:   map[uint64]string{100: "", 101: "2", 102: "2", 103: ""},
		},
		"one signer, two senders": {
			orders: []*rpc.Order{followerOf(2, alice, carol, 101, 102), followerOf(3, alice, bob, 101, 103)},
			told:   map[uint64]string{101: "2", 102: "2", 103: "3"},
		},
		"two signers, one sender": {
			orders: []*rpc.Order{followerOf(2, alice, carol, 101, 102), followerOf(3, bob, carol, 101, 103)},
			told:   map[uint64]string{101: "2", 102: "2", 103: "3"},
		},
		"two who have earned it": {
			orders: []*rpc.Order{followerOf(2, alice, alice, 101, 101), followerOf(3, bob, bob, 101, 101)},
			told:   map[uint64]string{101: "23"},
		},
		"newcomers are one, however many keys and senders they are": {
			orders: []*rpc.Order{followerOf(2, dave, dave, 101, 101),
				followerOf(3, common.Address{9}, common.Address{8}, 101, 102)},
			told: map[uint64]string{101: "2", 102: "3"},
		},
		"a newcomer does not silence who has earned it": {
			orders: []*rpc.Order{followerOf(2, dave, dave, 101, 101), followerOf(3, alice, alice, 101, 101)},
			told:   map[uint64]string{101: "23"},
		},
		"who cancels and sends again is told from the block after the next": {
			orders: []*rpc.Order{followerOf(2, alice, alice, 101, 110), followerOf(3, alice, alice, 101, 110)},
			ended:  map[uint64]uint64{2: 100},
			told:   map[uint64]string{101: "2", 102: "3"},
		},
		"what begins later is told first until then": {
			orders: []*rpc.Order{followerOf(2, alice, alice, 103, 104), followerOf(3, alice, alice, 101, 104)},
			told:   map[uint64]string{101: "3", 102: "3", 103: "2", 104: "2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisclosure(func(signer common.Address) bool { return high[signer] })
			find := func(id uint64) *rpc.Order { return c.orders[id-2] }
			for _, order := range c.orders {
				d.apply(rpc.OrderAccepted{Order: order}, 100, find)
				if head, ended := c.ended[order.ID]; ended {
					d.apply(rpc.OrderEnded{OrderRef: order.Ref()}, head, find)
				}
			}
			for block, want := range c.told {
				got := ""
				for _, order := range c.orders {
					if d.mayTell(order, block) {
						got += string(rune('0' + order.ID))
					}
				}
				if got != want {
					t.Errorf("of block %d orders %q are told, want %q", block, got, want)
				}
			}
			d.apply(rpc.BlockIndexed{Head: rpc.Head{Number: 1000}}, 1000, find)
			if len(d.spans)+len(d.last) != 0 {
				t.Errorf("%d are never forgotten", len(d.spans))
			}
		})
	}
}

// A follower's status tells nothing before the block is over, then whether it could be included,
// and all once the order that it follows is on the chain.
func TestFollowersStatus(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		target := sharing(orderOf(alice, 1, 101, 110))
		s.submit(target)
		s.takeLines()
		first := s.submit(backrunOf(target, bob, 2, 101, 110))
		second := backrunOf(target, carol, 3, 101, 110)
		s.set(func() { s.results[second.Bundle.Elements[1].Tx.Hash] = failure("tx failed", true) })
		second = s.submit(second)
		s.takeLines()
		for _, who := range []*rpc.Order{first, second} {
			status := s.lifecycle.Status(who.Signer, who.Hash())
			if status.State != rpc.Submitted || len(status.Simulations)+len(status.Deliveries) > 0 || !status.Withheld {
				t.Errorf("before the block: %+v", status)
			}
		}
		s.mine(101)
		s.takeLines()
		told := s.lifecycle.Status(bob, first.Hash())
		if told.State != rpc.Sent || len(told.Simulations) != 1 || len(told.Deliveries) != 1 {
			t.Fatalf("after the block: %+v", told)
		}
		if sim := told.Simulations[0]; !sim.Success || sim.GasUsed != 0 || sim.ProfitWei != nil ||
			!sim.At.Equal(time.Unix(101*12, 0)) {
			t.Errorf("%+v", sim)
		}
		if untold := s.lifecycle.Status(carol, second.Hash()); untold.State != rpc.Submitted || len(untold.Simulations) > 0 {
			t.Errorf("the second newcomer: %+v", untold)
		}
		s.mine(102, target)
		s.takeLines()
		if after := s.lifecycle.Status(carol, second.Hash()); after.Withheld || len(after.Simulations) == 0 ||
			after.Simulations[0].Error == followerFailed || after.Simulations[0].GasCharged == 0 {
			t.Errorf("on the chain: %+v", after)
		}
	})
}

// What one costs who follows an order does not depend on what its backrun did, and so many may
// follow it in one block.
func TestFollowingHasItsPrice(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		target := sharing(orderOf(alice, 1, 101, 110))
		s.submit(target)
		s.takeLines()
		for i := range uint64(followsPerBlock) {
			s.submit(backrunOf(target, bob, 2+i, 101, 101))
		}
		s.refused(backrunOf(target, bob, 99, 101, 101), rpc.BackrunLimited)
		s.submit(backrunOf(target, carol, 100, 101, 101)) // another's affair
		s.takeLines()
		for _, fact := range s.past {
			if f, ok := fact.(rpc.OrderSimulated); ok && f.ID != 1 && f.GasCharged != gasLimitOfOrders {
				t.Errorf("order %d is charged %d gas", f.ID, f.GasCharged)
			}
		}
		s.mine(101)
		s.takeLines()
		s.submit(backrunOf(target, bob, 101, 102, 102)) // the next block is another one
	})
}
