package rpc

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// record is a refund in the RPC's list.
type record struct {
	Hash      string `json:"hash"`
	Amount    string `json:"amount"`
	Block     string `json:"blockNumber"`
	Status    string `json:"status"`
	Recipient string `json:"recipient"`
}

// listRecords returns the refunds that the RPC lists for a recipient.
func listRecords(t *suite.T, recipient common.Address) (list []record) {
	answer := call(t, key(t), "flashbots_getFeeRefundsByRecipient", object{"recipient": recipient.Hex()})
	if answer.Code() == -32601 {
		t.Unsupported("the reports about refunds are not known")
	}
	var page struct {
		Refunds []record `json:"refunds"`
	}
	readResult(t, answer, &page)
	return page.Refunds
}

// number parses a quantity in hexadecimal. It fails the spec unless the text is one.
func number(t *suite.T, name, text string) *big.Int {
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	t.Check(ok && strings.HasPrefix(text, "0x"), name+" as a hexadecimal number", text)
	return n
}

// waitRecorded waits for the record of the refund that a backrun paid to the owner of the followed
// order. It fails the spec unless there is exactly one.
func (b *backrun) waitRecorded(t *suite.T) record {
	var list []record
	err := t.Eventually(t.Target.Budgets.Settle(), func() error {
		if list = listRecords(t, b.owner.address()); len(list) == 0 {
			return errNoRecord
		}
		return nil
	})
	t.Check(err == nil && len(list) == 1, "one record of the refund that the block paid", list)
	return list[0]
}

const errNoRecord = errText("no record")

// waitRefundsListed waits for the first block whose refunds may be listed.
func waitRefundsListed(t *suite.T) {
	for head(t) < world.EarliestRefundBlock {
		waitForBlock(t, head(t)+1)
	}
}

// makeListed makes a backrun in a block whose refunds may be listed.
func makeListed(t *suite.T) *backrun {
	requireBuilders(t)
	waitRefundsListed(t)
	return makeFollowed(t, shareWith(func(*suite.T) object { return nil }))
}

// describeRefundsPaid adds specs about the RPC's lists of refunds that blocks have paid.
func describeRefundsPaid(s *suite.Set) {
	s.It("RPC-RFR-05", "has what was paid, to the wei", func(t *suite.T) {
		b := makeListed(t)
		r := b.waitRecorded(t)
		known := []string{strings.ToLower(b.targetHash.Hex()), strings.ToLower(bundleHash(b.target).Hex())}
		t.Check(strings.ToLower(r.Hash) == known[0] || strings.ToLower(r.Hash) == known[1], "hash "+known[0], r.Hash)
		// A service may list the amount before the payout's cost is subtracted.
		amount, paid, counted := number(t, "amount", r.Amount), b.refund(90, 1), percentOf(b.valueWei, 90)
		t.Check(amount.Cmp(paid) == 0 || amount.Cmp(counted) == 0, fmt.Sprintf("amount %s, or %s before the payout's cost",
			paid, counted), amount)
		t.Check(number(t, "blockNumber", r.Block).Uint64() == uint64(b.at.Block), "blockNumber "+
			hexNumber(uint64(b.at.Block)), r.Block)
		t.Check(r.Status == "pending" || r.Status == "received", "status pending or received", r.Status)
		t.Check(strings.EqualFold(r.Recipient, b.owner.address().Hex()), "recipient "+b.owner.address().Hex(), r.Recipient)
	})
	s.Slow("RPC-RFR-06", "lists nothing of the first blocks", func(t *suite.T) {
		requireBuilders(t)
		owner := newWallet(t) // sends a bundle before the earliest block, if that is still to come, and one after it
		refund := []object{{"bodyIdx": 0, "percent": 90}}
		if head(t)+4 < world.EarliestRefundBlock {
			sendBundled(t, owner, refund, owner.send(1))
		}
		waitRefundsListed(t)
		later := sendBundled(t, owner, refund, owner.send(2))
		var list []record
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			if list = listRecords(t, owner.address()); len(list) == 0 {
				return errNoRecord
			}
			return nil
		})
		t.Ready(err, "wait for the record of a refund")
		for _, r := range list {
			block := number(t, "blockNumber", r.Block).Uint64()
			t.Check(block >= world.EarliestRefundBlock && block == uint64(later.at.Block),
				fmt.Sprintf("no record of a block below %d", world.EarliestRefundBlock), r)
		}
	})
	s.It("RPC-RFR-08", "stays received", func(t *suite.T) {
		b := makeListed(t)
		if r := b.waitRecorded(t); r.Status != "received" {
			t.Inconclusive("the refund is %s", r.Status)
		}
		for range 3 {
			waitForBlock(t, head(t)+1)
			r := b.waitRecorded(t)
			t.Check(r.Status == "received", "status received", r.Status)
		}
	})
}
