package pool

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// A bid that was placed before a cancel may win: the order is in the block, whatever its signer
// wanted later.
func TestCancelledIn(t *testing.T) {
	at, signer, a, b := time.Unix(1000, 0), common.Address{7}, common.Hash{0xa}, common.Hash{0xb}
	head := func(number uint64) rpc.Head { return rpc.Head{Number: number, Hash: common.Hash{byte(number)}} }
	for name, c := range map[string]struct {
		unsent bool
		block  uint64
		txs    []common.Hash
		want   int
	}{
		"in the next block":       {block: 101, txs: []common.Hash{{1}, a, b}, want: 1},
		"in the one after":        {block: 102, txs: []common.Hash{a, b}, want: 1},
		"no builder had it":       {unsent: true, block: 101, txs: []common.Hash{a, b}},
		"a part of it":            {block: 101, txs: []common.Hash{a}},
		"in another order":        {block: 101, txs: []common.Hash{b, a}},
		"when no bid has it more": {block: 103, txs: []common.Hash{a, b}},
	} {
		t.Run(name, func(t *testing.T) {
			p, replayed := New(Config{}), New(Config{})
			p.Block(at, head(100), nil)
			outcome, err := p.Add(at, head(100), &rpc.Order{Kind: rpc.KindBundle, Signer: signer, Replacement: uuid.UUID{1},
				Bundle: rpc.Bundle{
					Hash: common.Hash{9}, Window: rpc.Window{FirstBlock: 101, LastBlock: 110},
					Elements: []rpc.Element{{Tx: &rpc.Transaction{Hash: a}}, {Tx: &rpc.Transaction{Hash: b}}},
				}})
			if err != nil {
				t.Fatal(err)
			}
			facts := outcome.Facts
			if !c.unsent {
				facts = append(facts, p.Sent(at, 1, rpc.Delivery{Builder: "b", Block: 101})...)
			}
			_, ended := p.Cancel(at, signer, uuid.UUID{1})
			facts = append(facts, ended...)
			for _, fact := range facts {
				replayed.Apply(fact)
			}
			for life, pool := range map[string]*Pool{"this life": p, "the next life": replayed} {
				if got := pool.CancelledIn(head(c.block), c.txs); len(got) != c.want {
					t.Errorf("%s: %d orders, want %d", life, len(got), c.want)
				}
			}
		})
	}
}
