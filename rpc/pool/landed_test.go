package pool

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Who landed in a block can be asked again, also of a pool that was told of it by the journal; a
// transaction that landed by another way is no landing.
func TestLandedIn(t *testing.T) {
	at, head := time.Unix(1000, 0), rpc.Head{Number: 100, Hash: common.Hash{100}}
	next := rpc.Head{Number: 101, Hash: common.Hash{101}}
	p, replayed := New(Config{}), New(Config{})
	var facts []rpc.Fact
	for i, tx := range []string{"b", "a", "c"} { // c wants a later block
		first := uint64(101 + i/2)
		order := &rpc.Order{Kind: rpc.KindBundle, Bundle: rpc.Bundle{
			Hash: common.Hash{byte(i)}, Window: rpc.Window{FirstBlock: first, LastBlock: first},
			Elements: []rpc.Element{{Tx: &rpc.Transaction{Hash: common.HexToHash(tx)}}},
		}}
		outcome, err := p.Add(at, head, order)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, outcome.Facts...)
	}
	facts = append(facts, p.Block(at, next, []common.Hash{common.HexToHash("a"), common.HexToHash("b"),
		common.HexToHash("c")})...)
	for _, fact := range facts {
		replayed.Apply(fact)
	}
	for name, pool := range map[string]*Pool{"pool": p, "next life's": replayed} {
		if got := pool.LandedIn(next); len(got) != 2 || got[0].ID != 1 || got[1].ID != 2 {
			t.Errorf("%s: %v", name, got)
		}
		if got := pool.LandedIn(rpc.Head{Number: 101, Hash: common.Hash{1}}); got != nil {
			t.Errorf("%s: in another block %v", name, got)
		}
	}
}

// The end of an order tells what was before, in the next life too: when it came, when a simulation
// succeeded first, and what the newest one said.
func TestTheEndTellsTheLife(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(1000+second, 0).UTC() }
	p, replayed := New(Config{}), New(Config{})
	head, order := rpc.Head{Number: 100}, &rpc.Order{Kind: rpc.KindShare, ReceivedAt: at(0),
		Bundle: rpc.Bundle{Window: rpc.Window{FirstBlock: 101, LastBlock: 101}}}
	outcome, err := p.Add(at(0), head, order)
	if err != nil {
		t.Fatal(err)
	}
	facts := outcome.Facts
	for second, failure := range []string{"too early", "", "", "nonce too low"} {
		facts = append(facts, p.Simulated(at(int64(second)), outcome.Order.ID, rpc.Simulation{Success: failure == "",
			Error: failure})...)
	}
	for _, fact := range facts {
		replayed.Apply(fact)
	}
	want := rpc.Summary{Kind: rpc.KindShare, ReceivedAt: at(0), SimulatedAt: at(1), SimulationError: "nonce too low"}
	for name, pool := range map[string]*Pool{"pool": p, "next life's": replayed} {
		ends := pool.Block(at(12), rpc.Head{Number: 101}, nil)
		if len(ends) != 1 || ends[0].(rpc.OrderEnded).Summary != want {
			t.Errorf("%s: %+v, want a life %+v", name, ends, want)
		}
	}
}
