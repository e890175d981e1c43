package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// An order's end is recorded when the indexer knows what it paid, or does not know it.
func TestLanding(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		one, two := orderOf(alice, 1, 101, 110), orderOf(bob, 2, 101, 110)
		s.submit(one)
		s.submit(two)
		s.takeLines()
		s.set(func() { s.paid = map[uint64]*uint256.Int{1: uint256.NewInt(5)} })
		s.mine(101, one)
		s.want("index 101 with 1", "ended 1 landed for 5", "simulated 2 for 102", "send 2 for 102", "sent 2 to b")
		s.set(func() { s.paid, s.unindexed = nil, errors.New("nobody answers") })
		s.mine(102, two)
		s.want("index 102 with 2", "ended 2 landed")
		s.set(func() { s.paid, s.unindexed = map[uint64]*uint256.Int{2: uint256.NewInt(6)}, nil }) // now it can be said
		s.mine(103)
		s.want("index 103")
		if status := s.lifecycle.Status(bob, two.Hash()); status.ValueWei == nil || status.ValueWei.Uint64() != 6 {
			t.Errorf("%+v", status)
		}
	})
}

// While a block is indexed orders are taken, and those for the next block are simulated: the answer
// of a node is not waited for.
func TestSettlingDoesNotHoldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		patience := make(chan struct{})
		s.lifecycle.Indexer = slowIndexer{indexer{s}, patience}
		s.run()
		order := orderOf(alice, 1, 101, 101)
		s.submit(order)
		s.takeLines()
		s.mine(101, order)
		s.want()
		s.submit(orderOf(bob, 2, 102, 102))
		s.want("accepted 2", "simulated 2 for 102", "send 2 for 102", "sent 2 to b")
		close(patience)
		s.want("index 101 with 1", "ended 1 landed")
	})
}

// slowIndexer indexes when it may.
type slowIndexer struct {
	indexer
	patience chan struct{}
}

func (s slowIndexer) Index(ctx context.Context, at time.Time, block *types.Block,
	landed []*rpc.Order) (map[uint64]*uint256.Int, error) {
	<-s.patience
	return s.indexer.Index(ctx, at, block, landed)
}

// A result for a head that is not the newest any more says nothing of the next block: the order is
// simulated again, and sent once.
func TestBlockComesDuringSimulation(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.hold = make(chan struct{})
		s.submit(orderOf(alice, 1, 101, 110))
		s.want("accepted 1")
		s.mine(101)
		s.want("index 101")
		close(s.hold)
		s.want("simulated 1 for 102", "send 1 for 102", "sent 1 to b")
	})
}

// Blocks that came unseen are read and made up for, the oldest first.
func TestMissedBlocks(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		s.submit(order)
		s.takeLines()
		s.chain.add(101)
		s.chain.add(102, order)
		s.chain.add(103)
		s.mine(104)
		s.wantBlocks("index 101", "index 102 with 1", "ended 1 landed", "index 103", "index 104")
	})
}

// Two blocks are replaced by three at once, of which only the last is handed over: what ended in
// the first branch lives again, and lands in the second.
func TestReorganisation(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		one, two := orderOf(alice, 1, 101, 110), orderOf(bob, 2, 101, 110)
		s.submit(one)
		s.submit(two)
		s.takeLines()
		s.mine(101, one)
		s.want("index 101 with 1", "ended 1 landed", "simulated 2 for 102", "send 2 for 102", "sent 2 to b")
		s.mine(102, two)
		s.want("index 102 with 2", "ended 2 landed")
		s.chain.add(101)
		s.chain.add(102, one)
		s.mine(103)
		work := s.wantBlocks("returned 2", "revert 102", "returned 1", "revert 101", "index 101", "index 102 with 1",
			"ended 1 landed", "index 103")
		if !strings.HasSuffix(work, "simulated 2 for 104, send 2 for 104, sent 2 to b") {
			t.Error(work)
		}
	})
}

// When nobody followed for very long only the newest blocks are read.
func TestVeryManyMissedBlocks(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		for number := uint64(101); number < 101+maxMissed+50; number++ {
			s.chain.add(number)
		}
		s.chain.asked = 0
		s.mine(101 + maxMissed + 50)
		if s.takeLines(); s.chain.asked != maxMissed || s.lifecycle.Head().Number != 101+maxMissed+50 {
			t.Errorf("%d blocks were read, the newest is %d", s.chain.asked, s.lifecycle.Head().Number)
		}
	})
}

// A block whose parents cannot be read now waits for the next one: else what they were the end of
// would never be known.
func TestMissedBlocksThatCannotBeReadNow(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := orderOf(alice, 1, 101, 110)
		s.submit(order)
		s.takeLines()
		s.chain.unread[101] = exec.ErrNode
		s.chain.add(101, order)
		s.chain.add(102)
		s.mine(103)
		s.want()
		delete(s.chain.unread, 101)
		s.mine(104)
		s.want("index 101 with 1", "ended 1 landed", "index 102", "index 103", "index 104")
	})
}

// What nobody has any more is not waited for.
func TestMissedBlocksThatAreGone(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.chain.unread[101] = exec.ErrUnknownBlock
		s.chain.add(101)
		s.chain.add(102)
		s.mine(103)
		s.want("index 102", "index 103")
	})
}

// The next life takes up the blocks since the newest one that was indexed, and simulates what could
// be in the next block.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.run()
		one, two, three := orderOf(alice, 1, 101, 110), orderOf(bob, 2, 101, 110), version(carol, 3, 101, 110, 7)
		for _, order := range []*rpc.Order{one, two, three} {
			s.submit(order)
		}
		s.takeLines()
		s.mine(101)
		s.takeLines()
		s.set(func() { s.unindexed = errors.New("nobody answers") })
		s.mine(102, one) // lands, but nobody knows what it paid
		s.takeLines()

		s.unindexed = nil
		s.chain.add(103, two)
		s.chain.add(104)
		first := s.lifecycle
		s.restart()
		s.run()
		s.want("index 102 with 1", "index 103 with 2", "ended 2 landed", "index 104", "simulated 3 for 105",
			"send 3 for 105", "sent 3 to b")
		if first.Head().Number != 102 || s.lifecycle.Head().Number != 104 {
			t.Errorf("heads %d, %d", first.Head().Number, s.lifecycle.Head().Number)
		}
		s.cancel(carol)
		s.want("forget 3 at b", "ended 3 cancelled")
	})
}

// The chain was reorganised while nobody looked: only the blocks since the fork are read.
func TestRestartAfterReorganisation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.run()
		order := orderOf(alice, 1, 101, 110)
		s.submit(order)
		s.takeLines()
		s.mine(101)
		s.mine(102, order)
		s.takeLines()
		s.chain.add(102)
		s.chain.add(103)
		s.restart()
		s.run()
		s.want("returned 1", "revert 102", "index 102", "index 103", "simulated 1 for 104", "send 1 for 104", "sent 1 to b")
	})
}

// A life that ended in a reorganisation goes on from where the branches part.
func TestRestartDuringReorganisation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.run()
		s.mine(101)
		taken := s.mine(102)
		s.takeLines()
		s.past = append(s.past, rpc.BlockReverted{Head: headOf(taken.Header())})
		s.chain.add(102)
		s.restart()
		s.run()
		s.want("index 102")
	})
}

// When nothing has happened since, nothing is indexed twice.
func TestRestartAtTheSameBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		s.run()
		s.submit(orderOf(alice, 1, 101, 110))
		s.mine(101)
		s.takeLines()
		s.restart()
		s.run()
		s.want("simulated 1 for 102", "send 1 for 102", "sent 1 to b")
		s.chain.add(101) // in place of the newest
		s.mine(102)
		s.wantBlocks("revert 101", "index 101", "index 102")
	})
}

// Without a chain there is no beginning.
func TestNoChain(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(s *lifecycleTest)
		want   string
	}{
		"no head": {func(s *lifecycleTest) { s.chain.head = nil }, "ask for the newest block: execution node unavailable"},
		"no block": {func(s *lifecycleTest) {
			s.lifecycle.Apply(rpc.BlockIndexed{Head: rpc.Head{Number: 99, Hash: [32]byte{1}}})
			s.chain.unread[100] = exec.ErrNode
		}, "read the newest block: execution node unavailable"},
		"no parent": {func(s *lifecycleTest) {
			s.lifecycle.Apply(rpc.BlockIndexed{Head: rpc.Head{Number: 90, Hash: [32]byte{1}}})
			s.chain.add(101)
			s.chain.unread[100] = exec.ErrNode
		}, "read a block that was missed: execution node unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLifecycleTest(t)
			c.damage(s)
			if err := s.lifecycle.Begin(t.Context()); err == nil || err.Error() != c.want || !errors.Is(err, exec.ErrNode) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// A chain that cannot be followed any more ends the lifecycle, with all its workers.
func TestChainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLifecycleTest(t)
		if err := s.lifecycle.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.chain.ended = errors.New("it is over")
		close(s.chain.news)
		if err := s.lifecycle.Run(t.Context()); err == nil || err.Error() != "follow the chain: it is over" {
			t.Error(err)
		}
	})
}

// The newest 64 blocks can be taken back; who comes from further away starts again there.
func TestDeepReorganisation(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		for number := uint64(101); number < 200; number++ {
			s.mine(number)
		}
		s.takeLines()
		s.chain.add(150)
		s.mine(151)
		var want []string
		for number := 199; number >= 150; number-- {
			want = append(want, fmt.Sprint("revert ", number))
		}
		s.want(append(want, "index 150", "index 151")...)
		if len(s.lifecycle.heads) > headsKept {
			t.Errorf("%d heads are kept", len(s.lifecycle.heads))
		}
	})
}
