package pool

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// TestNeededFactsMakeTheSamePool: whatever happens, and however often the pool is made anew of the
// facts that are needed, it does the same as one that was made of all facts. Only what its signers
// are shown of an order's past may be less.
func TestNeededFactsMakeTheSamePool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.config.MaxOrders = 1000 // what is forgotten beyond that differs by what came back meanwhile
		w.pool, w.chain = New(w.config), nil
		w.block(nil)
		needed := NewCompaction(w.config)
		seen := 0
		take := func() {
			for ; seen < len(w.facts); seen++ {
				needed.Apply(throughJSON(t, w.facts[seen]))
			}
		}
		actions := w.actions()
		block := actions["block"]
		actions["block"] = func(t *rapid.T) {
			block(t)
			take()
			needed.Apply(rpc.BlockIndexed{At: w.at, Head: w.head()})
		}
		actions["restart"] = func(*rapid.T) { // the facts that were needed are needed again
			take()
			again := NewCompaction(w.config)
			for _, fact := range needed.Facts() {
				again.Apply(fact)
			}
			needed = again
		}
		t.Repeat(actions)

		take()
		restored := New(w.config)
		for _, fact := range needed.Facts() {
			restored.Apply(fact)
		}
		restored.CountFrom(w.pool.lastID)
		for top := w.highest; w.head().Number <= top; {
			w.block(nil)
			restored.Block(w.at, w.head(), nil)
		}
		forgetThePast(w.pool)
		forgetThePast(restored)
		got, want := stateOf(t, restored, w.at), stateOf(t, w.pool, w.at)
		if overdue(restored) || overdue(w.pool) { // then what lives must be the same
			got, want = remembered{live: got.live, ready: got.ready}, remembered{live: want.live, ready: want.ready}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("the needed facts make another pool:\n%s", difference(got, want))
		}
	})
}

// overdue says whether a pool still has an order that is to be forgotten: after a reorganisation
// one may stand behind another that ended at a higher block.
func overdue(p *Pool) bool {
	for _, e := range p.entries {
		if !e.alive() && e.end.block+p.config.KeepFinal+reorgDepth < p.head.Number {
			return true
		}
	}
	return false
}

// forgetThePast takes out what decides about no order: it is only shown.
func forgetThePast(p *Pool) {
	for _, e := range p.entries {
		e.simulations = lastOf(e.simulations, min(1, len(e.simulations)))
		e.deliveries = nil
	}
}

// A flood of cancels does not push out one whose versions are kept: they stay barred, and what it
// has cancelled does not come back.
func TestNeededCancelsInAFlood(t *testing.T) {
	config := Config{MaxOrders: 5}
	needed, victim := NewCompaction(config), key{common.Address{1}, uuid.UUID{1}}
	order := &rpc.Order{ID: 1, Signer: victim.signer, Replacement: victim.replacement,
		Bundle: rpc.Bundle{Window: rpc.Window{FirstBlock: 103, LastBlock: 110}}}
	needed.Apply(rpc.OrderAccepted{Order: order})
	needed.Apply(rpc.CancelNoted{Signer: victim.signer, Replacement: victim.replacement, Block: 101, Barred: 103})
	needed.Apply(rpc.OrderEnded{OrderRef: order.Ref(), State: rpc.Cancelled, Block: 100})
	needed.Apply(rpc.CancelNoted{Signer: victim.signer, Replacement: victim.replacement, Block: 101, Barred: 101})
	for i := range byte(100) {
		needed.Apply(rpc.CancelNoted{Signer: common.Address{2}, Replacement: uuid.UUID{2, i}, Block: 101})
	}
	if n := len(needed.Facts()); n > 2*config.MaxOrders+3 {
		t.Errorf("%d facts are needed", n)
	}
	p := New(config)
	for _, fact := range needed.Facts() {
		p.Apply(fact)
	}
	if g := p.keys[victim]; g == nil || g.barred != 103 || g.cancelled != 1 {
		t.Errorf("%+v", g)
	}
}

// What is needed does not grow with what has happened, if no more lives at a time.
func TestNeededIsBounded(t *testing.T) {
	config := Config{MaxOrders: 50, KeepFinal: 2}
	p, needed, most := New(config), NewCompaction(config), 0
	at := time.Unix(1000, 0)
	take := func(facts []rpc.Fact) {
		for _, fact := range facts {
			needed.Apply(fact)
		}
	}
	for number := uint64(100); number < 1100; number++ {
		at = at.Add(12 * time.Second)
		head := rpc.Head{Number: number, Timestamp: uint64(at.Unix()), Hash: common.BytesToHash(fmt.Append(nil, number))}
		take(p.Block(at, head, nil))
		take([]rpc.Fact{rpc.BlockIndexed{At: at, Head: head}})
		for i := range 5 {
			order := benchOrder(int(number)*5+i, false)
			order.Bundle.Window = rpc.Window{FirstBlock: number + 1, LastBlock: number + 3}
			outcome, err := p.Add(at, head, order)
			if err != nil {
				t.Fatal(err)
			}
			take(outcome.Facts)
			for range 9 {
				take(p.Simulated(at, order.ID, rpc.Simulation{Block: number + 1, Success: true}))
				take(p.Sent(at, order.ID, rpc.Delivery{Builder: "titan", Block: number + 1}))
			}
			switch order.Kind {
			case rpc.KindPrivate:
				_, facts := p.CancelPrivate(at, order.Signer, order.Hash())
				take(facts)
			case rpc.KindBundle:
				_, facts := p.Cancel(at, order.Signer, order.Replacement)
				take(facts)
			}
		}
		most = max(most, len(needed.Facts()))
		if number == 300 {
			most = 0 // by now everything is forgotten that can be
		}
	}
	// 15 orders live, those of ten blocks have ended, private ones of 40; each has an acceptance, an
	// end, two of simulations, and two of deliveries.
	if first, last := most, len(needed.Facts()); last > first || first > 6*(15+50+80)+headsNeeded+50 {
		t.Errorf("%d facts are needed in the end, %d at most", last, first)
	}
}
