package builder

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
)

// bids lets a builder work on slot 3, with something happening after each bid, and tells what was
// bid: the orders in each block.
func bids(t *testing.T, before func(s *chaintest.Market),
	after func(s *chaintest.Market, n int)) (blocks []string, values []*uint256.Int) {
	t.Helper()
	r, c := newRelay(t, registered(3))
	node := opened(t, specOf(eth.Capella))
	node.pending = nil
	b := newBuilder(specOf(eth.Capella), node, c)
	handler, err := b.orders.Handler()
	if err != nil {
		t.Fatal(err)
	}
	s := chaintest.New(t, handler)
	before(s)
	r.after = func(n int) { after(s, n) }
	b.auction(t.Context(), attributesFor(node, 3))
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
		blocks, values = append(blocks, s.Names(txs[:len(txs)-1])), append(values, value)
	}
	return blocks, values
}

// An order that is cancelled is in no later bid. What was bid with it stays: a later bid is made
// only if it is higher.
func TestACancelledOrderIsInNoLaterBid(t *testing.T) {
	rich := func(s *chaintest.Market) chaintest.Object {
		return s.Bundle("A B80", chaintest.Object{"replacementUuid": chaintest.UUID(1)})
	}
	cancel := func(s *chaintest.Market) {
		s.Want("true", "eth_cancelBundle", chaintest.Object{"replacementUuid": chaintest.UUID(1)})
	}
	for _, c := range []struct {
		name   string
		before func(s *chaintest.Market)
		after  func(s *chaintest.Market, n int)
		want   string
	}{
		{
			name: "no bid is lowered", before: func(s *chaintest.Market) { s.Send("eth_sendBundle", rich(s)) },
			after: func(s *chaintest.Market, n int) { cancel(s) }, want: "A B80",
		},
		{
			name: "a better order takes its place",
			before: func(s *chaintest.Market) {
				s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"replacementUuid": chaintest.UUID(1)}))
			},
			after: func(s *chaintest.Market, n int) {
				if n == 0 {
					cancel(s)
					s.Send("eth_sendBundle", s.Bundle("A B80", nil))
				}
			}, want: "P, A B80, A B80",
		},
		{
			name: "it may come again", before: func(s *chaintest.Market) { s.Send("eth_sendBundle", rich(s)) },
			after: func(s *chaintest.Market, n int) {
				if n == 0 {
					cancel(s)
					s.Send("eth_sendBundle", rich(s))
				}
			}, want: "A B80, A B80, A B80",
		},
		{
			name: "orders come between bids", before: func(s *chaintest.Market) {
				s.Send("eth_sendBundle", s.Bundle("Q", nil))
			},
			after: func(s *chaintest.Market, n int) {
				if n == 0 {
					s.Send("eth_sendBundle", s.Bundle("P", nil))
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
