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
