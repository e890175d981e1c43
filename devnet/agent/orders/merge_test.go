package orders

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
)

// What goes into the block of the orders that a builder has: the most valuable first, each
// transaction once, and of the backruns that compete for a transaction the one that gives back
// most, its refund paid right after it.
func TestMerge(t *testing.T) {
	node := newMarket(t).node
	for _, c := range []struct {
		name  string
		setup func(s *market)
		want  string
	}{
		{"nothing", func(*market) {}, ""},
		{"a bundle as it is", func(s *market) { s.Send("eth_sendBundle", s.Bundle("P Q", nil)) }, "P Q"},
		{"the most valuable first", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("Q", nil))
			s.Send("eth_sendBundle", s.Bundle("P", nil))
		}, "P Q"},
		{"a transaction is there once", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("Q P", nil))
			s.Send("eth_sendBundle", s.Bundle("P", nil))
		}, "Q P"},
		{"a private transaction", func(s *market) { s.Send("eth_sendBundle", s.Bundle("A", nil)) }, "A"},
		{"a backrun is worth more than its target alone", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A", nil))
			s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{"refundPercent": 90}))
		}, "A B50 →user0"},
		{"the refund is paid before what comes next", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{"refundPercent": 90}))
			s.Send("eth_sendBundle", s.Bundle("P", nil))
		}, "A B50 →user0 P"},
		{"the best refund wins", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{"refundPercent": 90}))
			s.Send("eth_sendBundle", s.Bundle("A B80", chaintest.Object{"refundPercent": 90}))
			s.Send("eth_sendBundle", s.Bundle("A B60", chaintest.Object{"refundPercent": 90}))
		}, "A B80 →user0"},
		{"the best refund, not the best for the builder", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{"refundPercent": 90}))
			s.Send("eth_sendBundle", s.Bundle("A B80", chaintest.Object{"refundPercent": 20}))
		}, "A B50 →user0"},
		{"nested, as mev_sendBundle says it", func(s *market) {
			s.Send("mev_sendBundle", chaintest.Share(chaintest.Refund90,
				chaintest.Object{"bundle": chaintest.Share(nil, s.Tx("A"))}, s.Tx("B60")))
		}, "A B60 →user0"},
		{"nested and flat compete", func(s *market) {
			s.Send("mev_sendBundle", chaintest.Share(chaintest.Refund90,
				chaintest.Object{"bundle": chaintest.Share(nil, s.Tx("A"))}, s.Tx("B80")))
			s.Send("eth_sendBundle", s.Bundle("A B60", chaintest.Object{"refundPercent": 90}))
		}, "A B80 →user0"},
		{"shares of a nested bundle are two payouts", func(s *market) {
			config := chaintest.Object{"refundConfig": []chaintest.Object{
				{"address": chaintest.AddressOf(chaintest.Wallet("user", 5)), "percent": 70},
				{"address": chaintest.AddressOf(chaintest.Wallet("user", 6)),
					"percent": 30},
			}}
			s.Send("mev_sendBundle", chaintest.Share(chaintest.Refund90,
				chaintest.Object{"bundle": chaintest.Share(config, s.Tx("A"))}, s.Tx("B60")))
		}, "A B60 →user5 →user6"},
		{"a recipient is named", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{
				"refundPercent": 50, "refundRecipient": chaintest.AddressOf(chaintest.Wallet("user", 6)),
				"refundTxHashes": []string{s.Hash("B50").Hex()},
			}))
		}, "A B50 →user6"},
		{"a delayed refund is not in the block", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{"refundPercent": 90, "delayedRefund": true}))
		}, "A B50"},
		{"a backrun without its target has no gap to close", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("B50", nil))
		}, ""},
		{"what needs another order comes after it", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A2", nil))
			s.Send("eth_sendBundle", s.Bundle("A", nil))
		}, "A A2"},
		{"a bundle with a transaction that reverts", func(s *market) { s.Send("eth_sendBundle", s.Bundle("P R", nil)) }, ""},
		{"one that may revert stays", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P R", chaintest.Object{"revertingTxHashes": []string{s.Hash("R").Hex()}}))
		}, "P R"},
		{"one that may be left out is", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P R Q", chaintest.Object{"droppingTxHashes": []string{s.Hash("R").Hex()}}))
		}, "P Q"},
		{"one that cannot be applied takes its bundle with it", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("A2 P", chaintest.Object{"revertingTxHashes": []string{s.Hash("A2").Hex()}}))
		}, ""},
		{"another block's", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"blockNumber": "0x2"}))
		}, ""},
		{"the next block's, which is not named", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"blockNumber": nil}))
		}, "P"},
		{"too late by the clock", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"maxTimestamp": 1_700_000_011}))
		}, ""},
		{"too early by the clock", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"minTimestamp": 1_700_000_013}))
		}, ""},
		{"at the very second", func(s *market) {
			s.Send("eth_sendBundle",
				s.Bundle("P", chaintest.Object{"minTimestamp": 1_700_000_012, "maxTimestamp": 1_700_000_012}))
		}, "P"},
		{"a newer version", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"replacementUuid": chaintest.UUID(1)}))
			s.Send("eth_sendBundle", s.Bundle("Q", chaintest.Object{"replacementUuid": chaintest.UUID(1)}))
		}, "Q"},
		{"cancelled", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"replacementUuid": chaintest.UUID(1)}))
			s.Send("eth_sendBundle", s.Bundle("Q", chaintest.Object{"replacementUuid": chaintest.UUID(2)}))
			s.Want("true", "eth_cancelBundle", chaintest.Object{"replacementUuid": chaintest.UUID(1)})
			s.Want("false", "eth_cancelBundle", chaintest.Object{"replacementUuid": chaintest.UUID(3)})
		}, "Q"},
		{"cancelled by nothing in its place", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"replacementUuid": chaintest.UUID(1)}))
			s.Send("eth_sendBundle", chaintest.Object{"txs": []string{}, "replacementUuid": chaintest.UUID(1)})
		}, ""},
		{"cancelled by somebody else", func(s *market) {
			s.Send("eth_sendBundle", s.Bundle("P", chaintest.Object{"replacementUuid": chaintest.UUID(1)}))
			if got := s.Do(chaintest.Wallet("stranger", 0), "eth_cancelBundle",
				chaintest.Object{"replacementUuid": chaintest.UUID(1)}); got != "false" {
				s.t.Errorf("a stranger's cancellation: %s", got)
			}
		}, "P"},
		{"private transactions, straight from their senders", func(s *market) {
			s.Want(`"`+s.Hash("P").Hex()+`"`, "eth_sendPrivateTransaction", chaintest.Object{"tx": s.Raw("P")})
			s.Want(`"`+s.Hash("P").Hex()+`"`, "eth_sendPrivateTransaction", chaintest.Object{"tx": s.Raw("P")})
			s.Want(`"`+s.Hash("Q").Hex()+`"`, "eth_sendPrivateRawTransaction", s.Raw("Q"))
		}, "P Q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := marketOn(t, node)
			c.setup(s)
			if got := s.block(); got != c.want {
				t.Errorf("the block is %q, want %q", got, c.want)
			}
		})
	}
}

// Of the orders that wait only those are put into a draft that somebody wants.
func TestMergeOfWanted(t *testing.T) {
	s := newMarket(t)
	s.Send("eth_sendBundle", s.Bundle("P", nil))
	s.Send("eth_sendBundle", s.Bundle("Q", nil))
	for _, row := range []struct {
		wanted string
		p, q   bool
	}{{"P", true, false}, {"Q", false, true}} {
		draft, err := s.node.Draft(t.Context(), chaintest.Args(s.node))
		if err != nil {
			t.Fatal(err)
		}
		draft, placed := s.intake.Merge(t.Context(), draft, func(tx common.Hash) bool { return tx == s.Hash(row.wanted) })
		if placed != 1 || draft.Has(s.Hash("P")) != row.p || draft.Has(s.Hash("Q")) != row.q {
			t.Errorf("with %s wanted: %d orders, P %v, Q %v", row.wanted, placed, draft.Has(s.Hash("P")), draft.Has(s.Hash("Q")))
		}
	}
}
