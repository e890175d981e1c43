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

// The refund of a bundle is pending when its block is there, exact to the wei, and received when
// its payout is.
func TestRefund(t *testing.T) {
	h := openService(t, nil)
	signer, recipient := accountKey(7), common.Address{0xaa}
	first, payer := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{2}, 6)
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(first), rawOf(payer)}, "refundPercent": 40, "refundRecipient": recipient,
	})
	<-h.builder.got
	block := h.mine()
	const paid = 21_000 * 1_000_000_000 // gas, and a tip of 1 gwei
	credit := waitFor(h, "refund", func(f rpc.RefundCredited) bool { return f.Hash == got.BundleHash })
	if credit.AmountWei.Uint64() != paid/100*40 || credit.Recipient != recipient || credit.BlockHash != block.Hash() ||
		credit.Delayed {
		t.Errorf("%+v", credit)
	}
	h.waitForIndexed()
	want := refundRecord{got.BundleHash, hexNumber(paid / 100 * 40), hexNumber(block.NumberU64()), "pending", recipient}
	for _, query := range []struct {
		method string
		params []any
	}{
		{"flashbots_getFeeRefundsByRecipient", []any{map[string]any{"recipient": recipient}}},
		{"vendor_getFeeRefundsByRecipient", []any{map[string]any{"recipient": recipient}}},
		{"flashbots_getFeeRefundsByBundle", []any{map[string]any{"bundle_hash": got.BundleHash}}},
		{"buildernet_getFeeRefundsByBundle", []any{got.BundleHash}},
		{"flashbots_getFeeRefundsByBlock", []any{map[string]any{"block_number": hexNumber(block.NumberU64())}}},
	} {
		h.eventually(query.method, func() bool {
			var list refundList
			h.want(&list, signer, query.method, query.params...)
			return len(list.Refunds) == 1 && list.Refunds[0] == want && list.Cursor == ""
		})
	}
	payout := h.tx(accountKey(9), 0, recipient, paid/100*40)
	h.mine(payout)
	seen := waitFor(h, "payout", func(f rpc.RefundPaid) bool { return f.Hash == got.BundleHash })
	if seen.PayoutTx != payout.Hash() || seen.Recipient != recipient {
		t.Errorf("%+v", seen)
	}
	h.waitForIndexed()
	h.eventually("received", func() bool {
		var totals struct{ Pending, Received, MaxBlockNumber string }
		h.want(&totals, signer, "flashbots_getFeeRefundTotalsByRecipient", recipient)
		return totals.Pending == "0x0" && totals.Received == hexNumber(paid/100*40) &&
			totals.MaxBlockNumber == hexNumber(block.NumberU64()+1)
	})
}

// Whoever signs with the key of an address says where its later refunds go, and nobody else does.
func TestSetRefundRecipient(t *testing.T) {
	h := openService(t, nil)
	owner, other := accountKey(0), common.Address{0xbb}
	send := func(nonce uint64) rpc.RefundCredited {
		var got taken
		h.want(&got, accountKey(7), "eth_sendBundle",
			map[string]any{"txs": []string{rawOf(h.tx(owner, nonce, common.Address{1}, 5))}, "refundPercent": 10})
		<-h.builder.got
		h.mine()
		defer h.waitForIndexed()
		return waitFor(h, "refund", func(f rpc.RefundCredited) bool { return f.Hash == got.BundleHash })
	}
	if credit := send(0); credit.Recipient != addressOf(owner) {
		t.Errorf("without a wish: %s", credit.Recipient)
	}
	h.refused(rpc.NotYourAddress, accountKey(7), "flashbots_setFeeRefundRecipient", addressOf(owner), other)
	var set struct{ From, To string }
	h.want(&set, owner, "vendor_setFeeRefundRecipient", addressOf(owner), other)
	if set.From != lower(addressOf(owner)) || set.To != lower(other) {
		t.Errorf("%+v", set)
	}
	if credit := send(1); credit.Recipient != other {
		t.Errorf("after the wish: %s", credit.Recipient)
	}
	h.eventually("the earlier one stays", func() bool {
		var list refundList
		h.want(&list, owner, "flashbots_getFeeRefundsByRecipient", map[string]any{"recipient": addressOf(owner)})
		return len(list.Refunds) == 1
	})
}

// What is paid outside of the block is delayed: it has a list and totals of its own.
func TestDelayedRefund(t *testing.T) {
	h := openService(t, nil)
	signer, recipient := accountKey(7), common.Address{0xcc}
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5))}, "refundPercent": 50,
		"refundRecipient": recipient,
		"delayedRefund":   true,
	})
	<-h.builder.got
	block := h.mine()
	waitFor(h, "refund", func(f rpc.RefundCredited) bool { return f.Delayed })
	h.waitForIndexed()
	at := hexNumber(block.NumberU64())
	h.eventually("delayed", func() bool {
		var list refundList
		h.want(&list, signer, "buildernet_getDelayedRefunds", map[string]any{"recipient": recipient, "blockRangeFrom": at,
			"blockRangeTo": at, "hash": got.BundleHash})
		var totals struct{ Pending, Received, IndexedUpTo string }
		h.want(&totals, signer, "pool_getDelayedRefundTotalsByRecipient", map[string]any{"recipient": recipient})
		return len(list.Refunds) == 1 && list.IndexedUpTo == at && totals.Pending == list.Refunds[0].Amount &&
			totals.Received == "0x0"
	})
	h.refused(rpc.InvalidRange, signer, "pool_getDelayedRefunds", map[string]any{"recipient": recipient,
		"hash": got.BundleHash})
	h.refused(rpc.InvalidRange, signer, "pool_getDelayedRefunds", map[string]any{"recipient": recipient,
		"blockRangeFrom": 9, "blockRangeTo": 8})
	h.refused(rpc.InvalidCursor, signer, "pool_getDelayedRefunds", map[string]any{"recipient": recipient, "cursor": "x"})
}

// A refund of a block that the chain has left never was; one whose payout is gone is pending again.
func TestRefundOfAReorganisedBlock(t *testing.T) {
	h := openService(t, nil)
	signer, recipient := accountKey(7), common.Address{0xdd}
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5))}, "refundPercent": 50,
		"refundRecipient": recipient,
	})
	<-h.builder.got
	h.mine()
	credit := waitFor(h, "refund", func(f rpc.RefundCredited) bool { return true })
	h.waitForIndexed()
	parent := h.node.Chain().CurrentBlock().Hash()
	payout := h.tx(accountKey(9), 0, recipient, int64(credit.AmountWei.Uint64()))
	h.mine(payout)
	h.waitForIndexed()
	status := func() (status string) {
		var list refundList
		h.want(&list, signer, "flashbots_getFeeRefundsByRecipient", map[string]any{"recipient": recipient})
		if len(list.Refunds) == 1 {
			status = list.Refunds[0].Status
		}
		return status
	}
	h.eventually("received", func() bool { return status() == "received" })
	h.slot++
	h.mineOn([32]byte(parent)) // without the payout
	h.waitForIndexed()
	h.eventually("pending again", func() bool { return status() == "pending" })
	h.mine(payout)
	h.waitForIndexed()
	h.eventually("received again", func() bool { return status() == "received" })
}

func lower(a common.Address) string {
	text, _ := a.MarshalText()
	return string(text)
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
