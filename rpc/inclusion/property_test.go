package inclusion

import (
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// history plays a chain at random: blocks with orders and transfers, reorganisations, recipients,
// and times when nobody can execute anything.
type history struct {
	*indexerTest
	blocks []*types.Block
	orders uint64
}

var people = []common.Address{alice, bob, carol}

func (h *history) extend(t *rapid.T) {
	var acts []act
	for range rapid.IntRange(0, 3).Draw(t, "orders") {
		acts = append(acts, pays(rapid.Uint64Range(0, 20).Draw(t, "paid")))
	}
	orders := len(acts)
	for range rapid.IntRange(0, 4).Draw(t, "transfers") {
		from, to := rapid.SampledFrom([]common.Address{builder, payer, bob}).Draw(t, "from"),
			rapid.SampledFrom(people).Draw(t, "to")
		acts = append(acts, sends(from, to, rapid.Uint64Range(0, 10).Draw(t, "value")))
	}
	block := h.block(uint64(len(h.blocks)+1), acts...)
	var landed []*rpc.Order
	for place := range orders {
		h.orders++
		one := order(h.orders, rapid.SampledFrom([]int{0, 50, 100}).Draw(t, "percent"),
			rapid.SampledFrom(people).Draw(t, "owner"), block, place)
		if place > 0 && rapid.IntRange(0, 2).Draw(t, "follows") == 0 {
			target := landed[rapid.IntRange(0, place-1).Draw(t, "target")]
			one.Follows, one.Bundle.PaidBy = target.ID, nil
			one.Bundle.Elements = []rpc.Element{{Bundle: &target.Bundle}, one.Bundle.Elements[0]}
		}
		landed = append(landed, one)
	}
	h.blocks = append(h.blocks, block)
	h.down = rapid.IntRange(0, 3).Draw(t, "down") == 0
	if _, err := h.indexer.Index(t.Context(), noon, block, landed); err != nil && !h.down {
		t.Fatal(err)
	}
}

func (h *history) step(t *rapid.T) {
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case kind == 0:
		err := h.indexer.SetRecipient(noon, rapid.SampledFrom(people).Draw(t, "owner"),
			rapid.SampledFrom(people).Draw(t, "recipient"))
		if err != nil {
			t.Fatal(err)
		}
	case kind < 3 && len(h.blocks) > 0:
		last := h.blocks[len(h.blocks)-1]
		h.blocks = h.blocks[:len(h.blocks)-1]
		h.revert(last)
	default:
		h.extend(t)
	}
}

// plain is what the refunds says. Where a refund's order was in its block does not matter to a
// later life.
func plain(b *refunds) *refunds {
	clone := newRefunds()
	clone.recipients = b.recipients
	for _, p := range b.pending {
		p.After = 0
		clone.pending = append(clone.pending, p)
	}
	for block, list := range b.paid {
		for _, p := range list {
			p.After = 0
			clone.paid[block] = append(clone.paid[block], p)
		}
	}
	return clone
}

// The next life reads the facts and has the same refunds.
func TestTheFactsAreTheBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{indexerTest: newIndexer(nil)}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			h.step(t)
		}
		next := newIndexer(nil)
		for _, fact := range h.facts {
			next.indexer.Apply(fact)
		}
		if was, is := plain(h.indexer.refunds), plain(next.indexer.refunds); !reflect.DeepEqual(was, is) {
			t.Errorf("\nbook       %+v\nnext life's %+v", was, is)
		}
	})
}

// Blocks are counted one after another, without a gap; what is taken back was the newest; a refund
// is paid once, after it was credited; and what is credited is never more than was paid.
func TestFactsMakeSense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{indexerTest: newIndexer(nil)}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			h.step(t)
		}
		checkFacts(t, h)
	})
}

// owed is a refund by all that names it.
type owed struct {
	order     common.Hash
	bundle    common.Hash
	block     common.Hash
	recipient common.Address
}

func checkFacts(t *rapid.T, h *history) {
	counted := uint64(0)
	paidIn := map[owed]uint64{} // 0 while it is pending
	creditedWei := map[common.Hash]*uint256.Int{}
	for _, fact := range h.facts {
		switch f := fact.(type) {
		case rpc.BlockIndexed:
			if f.Number != counted+1 {
				t.Fatalf("block %d is counted after %d", f.Number, counted)
			}
			counted = f.Number
		case rpc.BlockReverted:
			counted = min(counted, f.Number-1) // it may never have been counted
			for key, block := range paidIn {
				if block == f.Number {
					paidIn[key] = 0
				}
			}
		case rpc.RefundCredited:
			key := owed{f.Hash, f.Bundle, f.BlockHash, f.Recipient}
			if _, twice := paidIn[key]; twice {
				t.Fatalf("credited twice: %+v", f)
			}
			paidIn[key] = 0
			sum := creditedWei[f.BlockHash]
			if sum == nil {
				sum = new(uint256.Int)
				creditedWei[f.BlockHash] = sum
			}
			sum.Add(sum, f.AmountWei)
		case rpc.RefundPaid:
			key := owed{f.Hash, f.Bundle, f.BlockHash, f.Recipient}
			if before, known := paidIn[key]; !known || before != 0 || f.PayoutBlock != counted+1 {
				t.Fatalf("paid in %d and %d, after %d: %+v", before, f.PayoutBlock, counted, f)
			}
			paidIn[key] = f.PayoutBlock
		}
	}
	for block, sum := range creditedWei {
		all := new(uint256.Int)
		for _, did := range h.did[block] {
			all.Add(all, did.CoinbaseDiffWei)
		}
		if sum.Gt(all) {
			t.Fatalf("%s wei credited of %s", sum, all)
		}
	}
}
