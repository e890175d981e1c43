package builder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// bids lets a builder work on slot 3, with something happening after each bid, and tells what was
// bid: the orders in each block.
func bids(t *testing.T, before func(s *stage), after func(s *stage, n int)) (blocks []string, values []*uint256.Int) {
	t.Helper()
	r, c := newRelay(t, registered(3))
	node := newStage(t).node
	s := stageOn(t, node, c)
	before(s)
	r.after = func(n int) { after(s, n) }
	s.builder.auction(t.Context(), attributesFor(node, 3))
	for _, submission := range r.got() {
		var txs types.Transactions
		for _, raw := range submission.Capella.ExecutionPayload.Transactions {
			tx := new(types.Transaction)
			if err := tx.UnmarshalBinary(raw); err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
		}
		value, err := submission.Value()
		if err != nil {
			t.Fatal(err)
		}
		// without the payment to the proposer
		blocks, values = append(blocks, s.names(txs[:len(txs)-1])), append(values, value)
	}
	return blocks, values
}

// An order that is cancelled is in no later bid. What was bid with it stays: a later bid is made
// only if it is higher.
func TestACancelledOrderIsInNoLaterBid(t *testing.T) {
	rich := func(s *stage) object { return s.bundle("A B80", object{"replacementUuid": uuidOf(1)}) }
	cancel := func(s *stage) { s.want("true", "eth_cancelBundle", object{"replacementUuid": uuidOf(1)}) }
	for _, c := range []struct {
		name   string
		before func(s *stage)
		after  func(s *stage, n int)
		want   string
	}{
		{
			name: "no bid is lowered", before: func(s *stage) { s.send("eth_sendBundle", rich(s)) },
			after: func(s *stage, n int) { cancel(s) }, want: "A B80",
		},
		{
			name:   "a better order takes its place",
			before: func(s *stage) { s.send("eth_sendBundle", s.bundle("P", object{"replacementUuid": uuidOf(1)})) },
			after: func(s *stage, n int) {
				if n == 0 {
					cancel(s)
					s.send("eth_sendBundle", s.bundle("A B80", nil))
				}
			}, want: "P, A B80, A B80",
		},
		{
			name: "it may come again", before: func(s *stage) { s.send("eth_sendBundle", rich(s)) },
			after: func(s *stage, n int) {
				if n == 0 {
					cancel(s)
					s.send("eth_sendBundle", rich(s))
				}
			}, want: "A B80, A B80, A B80",
		},
		{
			name: "orders come between bids", before: func(s *stage) { s.send("eth_sendBundle", s.bundle("Q", nil)) },
			after: func(s *stage, n int) {
				if n == 0 {
					s.send("eth_sendBundle", s.bundle("P", nil))
				}
			}, want: "Q, P Q, P Q",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocks, values := bids(t, c.before, c.after)
			if got := strings.Join(blocks, ", "); got != c.want {
				t.Errorf("bids are %s, want %s", got, c.want)
			}
			for i := 1; i < len(values); i++ {
				if !values[i].Gt(values[i-1]) {
					t.Errorf("a bid of %s after %s", values[i], values[i-1])
				}
			}
		})
	}
}

// A private transaction is tried for 25 blocks from the first one that is built after it came, and
// no longer than it says itself.
func TestAPrivateTransactionIsTriedFor25Blocks(t *testing.T) {
	s := newStage(t)
	s.want(`"`+s.hash("P").Hex()+`"`, "eth_sendPrivateTransaction", object{"tx": s.raw("P")})
	s.want(`"`+s.hash("Q").Hex()+`"`, "eth_sendPrivateTransaction", object{"tx": s.raw("Q"), "maxBlockNumber": "0x68"})
	var got []string
	for block := uint64(100); block < 130; block++ {
		var names types.Transactions
		for _, order := range s.builder.intake.forBlock(block, 1_700_000_000+12*block) {
			names = append(names, order.Bundle.Elements[0].Tx.Transaction)
		}
		if line := s.names(names); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], ": "+line) {
			got = append(got, fmt.Sprintf("%d: %s", block, line))
		}
	}
	if want := "100: P Q|105: P|125: "; strings.Join(got, "|") != want {
		t.Errorf("tried %s, want %s", strings.Join(got, "|"), want)
	}
	if left := len(s.builder.intake.orders); left != 0 {
		t.Errorf("%d orders are kept", left)
	}
}

// What was over two blocks ago is forgotten, what only was over a block ago is not: the chain may
// go back.
func TestOrdersAreForgotten(t *testing.T) {
	var p intake
	p.add(&Order{Window: Window{FirstBlock: 10, LastBlock: 10}})
	for _, step := range []struct {
		block      uint64
		want, kept int
	}{{9, 0, 1}, {10, 1, 1}, {11, 0, 1}, {12, 0, 1}, {10, 1, 1}, {13, 0, 0}, {10, 0, 0}} {
		if got := len(p.forBlock(step.block, 0)); got != step.want || len(p.orders) != step.kept {
			t.Errorf("block %d: %d orders, %d are kept; want %d and %d", step.block, got, len(p.orders), step.want, step.kept)
		}
	}
}
