package app

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

type refundRecord struct {
	Hash        common.Hash    `json:"hash"`
	Amount      string         `json:"amount"`
	BlockNumber string         `json:"blockNumber"`
	Status      string         `json:"status"`
	Recipient   common.Address `json:"recipient"`
}

type refundList struct {
	Refunds     []refundRecord `json:"refunds"`
	Cursor      string         `json:"cursor"`
	IndexedUpTo string         `json:"indexedUpTo"`
}

// eventually asks until the ledger, which trails the journal by a moment, says so.
func (s *service) eventually(what string, ask func() bool) {
	s.Helper()
	if err := s.app.journal.Flush(s.Context()); err != nil {
		s.Fatal(err)
	}
	last, err := s.app.journal.Last(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for {
		at, err := s.app.ledger.Last(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		if at >= last {
			break
		}
	}
	if !ask() {
		s.Errorf("the ledger does not say: %s", what)
	}
}

// A bid that was placed before a cancel wins: what its block pays for the order is in the ledger,
// and found received.
func TestRefundOfACancelledOrderThatLanded(t *testing.T) {
	h := openService(t, nil)
	signer, recipient, uuid := accountKey(7), common.Address{0xdd}, "e9ced844-16d5-4884-8507-db9338950c5c"
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5))}, "refundPercent": 50,
		"refundRecipient": recipient,
		"replacementUuid": uuid,
	})
	h.delivered(got.BundleHash, h.next())
	h.want(new(any), signer, "eth_cancelBundle", map[string]any{"replacementUuid": uuid})
	h.mine() // the builder has placed its bid already
	credit := waitFor(h, "refund", func(f rpc.RefundCredited) bool {
		return f.Hash == got.BundleHash && f.Recipient == recipient
	})
	h.mine(h.tx(accountKey(9), 0, recipient, int64(credit.AmountWei.Uint64())))
	waitFor(h, "payout", func(f rpc.RefundPaid) bool { return f.Hash == got.BundleHash })
	var list refundList
	h.eventually("received", func() bool {
		h.want(&list, signer, "flashbots_getFeeRefundsByBundle", map[string]any{"bundle_hash": got.BundleHash})
		return len(list.Refunds) == 1 && list.Refunds[0].Status == "received"
	})
	var status orderStatus
	if h.want(&status, signer, "gavel_getOrderStatus", got.BundleHash); status.State != "cancelled" {
		t.Errorf("%+v", status)
	}
}

// With default flags a refund is found that its builder paid less the payout's gas, by the gas
// limit of a real transaction at a real base fee.
func TestPayoutLessItsGas(t *testing.T) {
	h := openService(t, nil)
	signer, recipient := accountKey(7), common.Address{0xdd}
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(h.tipping(0, 0, 50))}, "refundPercent": 90, "refundRecipient": recipient,
	})
	h.delivered(got.BundleHash, h.next())
	baseFee := h.mine().BaseFee().Int64() * 7 / 8 // the next block's at least
	credit := waitFor(h, "refund", func(f rpc.RefundCredited) bool { return true })
	h.mine(h.tx(accountKey(9), 0, recipient, int64(credit.AmountWei.Uint64())-21_000*baseFee))
	waitFor(h, "payout", func(f rpc.RefundPaid) bool { return f.Hash == got.BundleHash })
}

// A refund for a followed order that is paid outside of the block is listed under the name of the
// bundle that brought it.
func TestDelayedRefundOfAMatchedOrder(t *testing.T) {
	h := openService(t, func(cfg *Config) { cfg.PayoutGas = 30_000_000 }) // nothing is worth a payout in the block
	user := addressOf(accountKey(0))
	var target common.Hash
	h.want(&target, accountKey(0), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(h.tipping(0, 0, 2))})
	waitFor(h, "hint", func(f rpc.OrderShared) bool { return f.Hash == target })
	backrun := h.tipping(1, 0, 50)
	bundle := h.follow(6, target, backrun)
	h.builder.forget()
	h.mine(h.tipping(0, 0, 2), backrun)
	h.waitForIndexed()
	var list refundList
	query := map[string]any{"recipient": user, "blockRangeFrom": hexNumber(1), "blockRangeTo": hexNumber(h.next() - 1),
		"hash": bundle}
	h.eventually("a delayed refund", func() bool {
		h.want(&list, accountKey(0), "buildernet_getDelayedRefunds", query)
		return len(list.Refunds) == 1
	})
	if list.Refunds[0].Hash != bundle {
		t.Errorf("it is listed under %s, want the bundle's %s", list.Refunds[0].Hash, bundle)
	}
}
