package rpc

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// refundsMade is how many refunds of one recipient are made for the specs that read lists and
// totals.
const refundsMade = 6

// refundSet has refunds of blocks of the world. The specs that read lists and totals share them,
// because each set takes several blocks.
type refundSet struct {
	mu    sync.Mutex // guards the fields below
	ready bool

	recipient common.Address
	signer    *ecdsa.PrivateKey // signed the orders
	backruns  []*backrun
}

// makeOnce calls make, unless an earlier call of it succeeded. If make ends the spec, the next spec
// that needs the refunds tries again.
func (m *refundSet) makeOnce(t *suite.T, make func(t *suite.T)) {
	requireBuilders(t)
	waitRefundsListed(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ready {
		m.recipient, m.signer, m.backruns = freshAccount(t), key(t), nil
		make(t)
		m.ready = true
	}
}

// makePaid makes refunds that blocks pay: all but one together, and the last in a later block.
func (m *refundSet) makePaid(t *suite.T) {
	m.makeOnce(t, func(t *suite.T) {
		m.payTogether(t, refundsMade-1)
		other := &refundSet{recipient: freshAccount(t), signer: m.signer} // whose refund is no page's of the first
		other.payTogether(t, 1)
		m.payTogether(t, 1)
	})
}

// payTogether makes so many refunds, usually in one block: bundles with an inner bundle, whose
// refund goes to the recipient.
func (m *refundSet) payTogether(t *suite.T, count int) {
	var group []*backrun
	var txs []*types.Transaction
	for range count {
		b := &backrun{owner: newWallet(t), tx: newWallet(t).create(paysWei, codePayment)}
		b.target = b.owner.send(1)
		inner := change(makeSoonParams(t, patience), object{"body": body(t, b.target), "validity": object{
			"refundConfig": []object{{"address": m.recipient.Hex(), "percent": 100}}}})
		outer := change(makeSoonParams(t, patience), object{"body": append([]object{{"bundle": inner}}, body(t, b.tx)...),
			"validity": object{"refund": []object{{"bodyIdx": 0, "percent": 90}}}})
		if answer := call(t, m.signer, "mev_sendBundle", outer); answer.Refused() {
			t.Inconclusive("a bundle with a refund is refused: %s", answer)
		}
		group, txs = append(group, b), append(txs, b.tx)
	}
	for _, b := range group {
		waitBuilderHas(t, b.tx)
	}
	include(t, txs...)
	for _, b := range group {
		if b.at = waitLanded(t, b.tx, slots(t, patience+2)); b.at == nil {
			t.Inconclusive("a bundle with a refund is in no block")
		}
	}
	m.backruns = append(m.backruns, group...)
}

// makeDelayed makes refunds that are to be paid outside of their blocks: all but one in one block,
// and the last in a later one.
func (m *refundSet) makeDelayed(t *suite.T) {
	m.makeOnce(t, func(t *suite.T) {
		m.delayInOneBlock(t, refundsMade-1)
		m.delayInOneBlock(t, 1)
	})
}

// delayInOneBlock makes so many delayed refunds in one block.
func (m *refundSet) delayInOneBlock(t *suite.T, count int) {
	repeatUntilBuilt(t, func() bool {
		var group []*backrun
		var txs []*types.Transaction
		block := head(t) + 3
		for range count {
			b := &backrun{owner: newWallet(t), tx: newWallet(t).create(paysWei, codePayment)}
			b.target = b.owner.send(1)
			params := object{"txs": encodeTxs(t, b.target, b.tx), "blockNumber": hexNumber(block), "refundPercent": 90,
				"refundRecipient": m.recipient.Hex(), "delayedRefund": true}
			if answer := call(t, m.signer, "eth_sendBundle", params); answer.Refused() {
				t.Unsupported("a bundle cannot ask for a delayed refund: %s", answer)
			}
			group, txs = append(group, b), append(txs, b.tx)
		}
		include(t, txs...)
		waitForBlock(t, block)
		landed := 0
		for _, b := range group {
			if b.at = receiptOf(t, b.tx); b.at != nil {
				landed++
			}
		}
		if landed > 0 && landed < count {
			t.Inconclusive("%d of %d bundles are in the block", landed, count)
		}
		if landed == count {
			m.backruns = append(m.backruns, group...)
		}
		return landed == count
	})
}

// refundPage is one answer of a method that lists refunds.
type refundPage struct {
	Refunds    []record `json:"refunds"`
	Cursor     string   `json:"cursor"`
	NextCursor string   `json:"nextCursor"`
}

// pageOf asks for one page.
func pageOf(t *suite.T, method string, params ...any) (p refundPage) {
	members := askRefunds(t, method, params...)
	for name, into := range map[string]any{"refunds": &p.Refunds, "cursor": &p.Cursor, "nextCursor": &p.NextCursor} {
		if raw, has := members[name]; has {
			err := json.Unmarshal(raw, into)
			t.Check(err == nil && string(raw) != "null", name+" in the documented form", string(raw))
		}
	}
	t.Check(members["refunds"] != nil, "refunds", members)
	return p
}

// allOf reads pages until there is no cursor, and fails the spec if a record comes twice.
func allOf(t *suite.T, method string, query object) (all []record, pages int) {
	seen := map[record]bool{}
	for cursor := any(nil); ; pages++ {
		p := pageOf(t, method, change(query, object{"cursor": cursor}))
		for _, r := range p.Refunds {
			t.Check(!seen[r], "each record once", r)
			seen[r] = true
		}
		all = append(all, p.Refunds...)
		next := p.Cursor + p.NextCursor // a method has one of them
		if next == "" {
			return all, pages + 1
		}
		t.Check(len(p.Refunds) > 0 && pages < 100, "a page with records before its cursor", p)
		cursor = next
	}
}

// listAll waits until a method lists as many refunds as the blocks have, and returns them.
func (m *refundSet) listAll(t *suite.T, method string, query object) (all []record) {
	err := t.Eventually(t.Target.Budgets.Settle(), func() error {
		if all, _ = allOf(t, method, query); len(all) < len(m.backruns) {
			return errNoRecord
		}
		return nil
	})
	t.Check(err == nil && len(all) == len(m.backruns), fmt.Sprintf("%d records", len(m.backruns)), all)
	return all
}

// sumByStatus adds up the amounts of records by their status.
func sumByStatus(t *suite.T, list []record) (pending, received *big.Int) {
	pending, received = new(big.Int), new(big.Int)
	for _, r := range list {
		switch r.Status {
		case "pending":
			pending.Add(pending, number(t, "amount", r.Amount))
		case "received":
			received.Add(received, number(t, "amount", r.Amount))
		default:
			t.Check(false, "status pending or received", r)
		}
	}
	return pending, received
}

// checkTotals fails the spec unless the totals are the sums of the records, and more than nothing.
// Pending refunds may become received between the two answers. So pending and received are compared
// in sum, and received must not be less than in the records.
func checkTotals(t *suite.T, totals map[string]json.RawMessage, list []record) {
	pending, received := sumByStatus(t, list)
	all := new(big.Int).Add(pending, received)
	got := new(big.Int).Add(readQuantity(t, totals, "pending"), readQuantity(t, totals, "received"))
	t.Check(all.Sign() > 0 && got.Cmp(all) == 0, fmt.Sprintf("pending and received of %s in sum, as the records", all),
		got)
	if readQuantity(t, totals, "received").Cmp(received) < 0 {
		t.Check(false, fmt.Sprintf("received of %s", received), readQuantity(t, totals, "received"))
	}
}

// newest returns the highest block of the refunds.
func (m *refundSet) newest() (block uint64) {
	for _, b := range m.backruns {
		block = max(block, uint64(b.at.Block))
	}
	return block
}

const (
	byRecipient   = "flashbots_getFeeRefundsByRecipient"
	byBundle      = "flashbots_getFeeRefundsByBundle"
	byBlock       = "flashbots_getFeeRefundsByBlock"
	totalsOf      = "flashbots_getFeeRefundTotalsByRecipient"
	delayedList   = "buildernet_getDelayedRefunds"
	delayedTotals = "buildernet_getDelayedRefundTotalsByRecipient"
)

// describeRefundLists adds specs about what the methods about fee refunds answer when there are
// refunds.
func describeRefundLists(s *suite.Set) {
	m := new(refundSet)
	s.Slow("RPC-RFT-04", "adds up what is listed", func(t *suite.T) {
		m.makePaid(t)
		list := m.listAll(t, byRecipient, object{"recipient": m.recipient.Hex()})
		totals := askRefunds(t, totalsOf, m.recipient.Hex())
		checkTotals(t, totals, list)
		t.Check(readQuantity(t, totals, "maxBlockNumber").Uint64() >= m.newest(), "maxBlockNumber of at least "+
			hexNumber(m.newest()), string(totals["maxBlockNumber"]))
	})
	s.Slow("RPC-RFB-04", "lists the refund of an order", func(t *suite.T) {
		m.makePaid(t)
		one := m.listAll(t, byRecipient, object{"recipient": m.recipient.Hex()})[1]
		list, _ := allOf(t, byBundle, object{"bundle_hash": one.Hash})
		t.Check(len(list) == 1 && list[0].Hash == one.Hash && list[0].Amount == one.Amount && list[0].Block == one.Block &&
			list[0].Recipient == one.Recipient, fmt.Sprintf("one record, %+v", one), list)
	})
	s.Slow("RPC-RFK-03", "lists the refunds of a block", func(t *suite.T) {
		m.makePaid(t)
		known := m.listAll(t, byRecipient, object{"recipient": m.recipient.Hex()})
		for _, block := range []string{known[0].Block, known[len(known)-1].Block} { // the refunds are of two blocks
			list, _ := allOf(t, byBlock, object{"block_number": block})
			found := map[string]bool{}
			for _, r := range list {
				t.Check(r.Block == block, "refunds of block "+block, r)
				found[r.Hash] = true
			}
			for _, r := range known {
				t.Check(r.Block != block || found[r.Hash], "the refund of "+r.Hash, list)
			}
		}
	})
	s.Slow("RPC-RFR-02", "has no cursor behind the last record", func(t *suite.T) {
		if t.World == nil {
			t.NotRun("there are no refunds to list without a world (chain.worldUrl)")
		}
		m.makePaid(t)
		query := object{"recipient": m.recipient.Hex()}
		m.listAll(t, byRecipient, query)
		for p := pageOf(t, byRecipient, query); p.Cursor != ""; {
			p = pageOf(t, byRecipient, change(query, object{"cursor": p.Cursor}))
			t.Check(len(p.Refunds) > 0, "records at a cursor, which says that there are more", p)
		}
	})
	s.Slow("RPC-RFR-09", "continues at its cursors, and ends", func(t *suite.T) {
		m.makePaid(t)
		query := object{"recipient": m.recipient.Hex()}
		list := m.listAll(t, byRecipient, query)
		most := t.Target.Limits.RefundsPerPage
		first := pageOf(t, byRecipient, query)
		t.Check(len(first.Refunds) == min(most, len(list)), fmt.Sprintf("%d of %d records", most, len(list)),
			len(first.Refunds))
		t.Check((first.Cursor != "") == (len(list) > most), "a cursor only if there are more records", first)
		second := pageOf(t, byRecipient, change(query, object{"cursor": first.Cursor}))
		t.Check(len(second.Refunds) > 0 && second.Refunds[0] == list[len(first.Refunds)],
			fmt.Sprintf("a second page that begins with %+v", list[len(first.Refunds)]), second)
	})
	s.Slow("RPC-RFR-10", "takes a cursor as the second parameter", func(t *suite.T) {
		m.makePaid(t)
		query := object{"recipient": m.recipient.Hex()}
		m.listAll(t, byRecipient, query)
		cursor := pageOf(t, byRecipient, query).Cursor
		one, other := pageOf(t, byRecipient, change(query, object{"cursor": cursor})), pageOf(t, byRecipient, query, cursor)
		t.Check(fmt.Sprint(one.Refunds) == fmt.Sprint(other.Refunds), fmt.Sprintf("the same page: %v", one.Refunds),
			other.Refunds)
	})
	s.Slow("RPC-SET-05", "sends later refunds to the new address", func(t *suite.T) {
		requireBuilders(t)
		waitRefundsListed(t)
		owner, to := newWallet(t), freshAccount(t)
		from, all := owner.address().Hex(), []object{{"bodyIdx": 0, "percent": 90}}
		before := sendBundled(t, owner, all, owner.send(1))
		before.waitRecorded(t)
		for _, next := range []common.Address{freshAccount(t), to} { // the last one counts
			if answer := call(t, owner.PrivateKey, "flashbots_setFeeRefundRecipient", from, next.Hex()); answer.Refused() {
				t.Inconclusive("the redirection is refused: %s", answer)
			}
		}
		b := sendBundled(t, owner, all, owner.send(2))
		b.checkGets(t, to, b.refund(90, 1))
		b.checkGets(t, owner.address(), new(big.Int))
		var list []record
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			if list = listRecords(t, to); len(list) == 0 {
				return errNoRecord
			}
			return nil
		})
		t.Check(err == nil && len(list) == 1 && strings.EqualFold(list[0].Recipient, to.Hex()),
			"a record of the refund with recipient "+to.Hex(), list)
		before.waitRecorded(t) // what was earned before stays the owner's
	})
	s.Slow("RPC-AUT-20", "counts what a signer's own orders paid, and nobody else's", func(t *suite.T) {
		m.makePaid(t)
		paid := func(signer *ecdsa.PrivateKey) (wei, gas *big.Int) {
			answer := call(t, signer, "flashbots_getUserStatsV2", object{"blockNumber": hexNumber(head(t))})
			if answer.Code() == -32601 {
				t.Unsupported("flashbots_getUserStatsV2 is not known")
			}
			var members struct {
				Paid *decimal `json:"allTimeValidatorPayments"`
				Gas  *decimal `json:"allTimeGasSimulated"`
			}
			readResult(t, answer, &members)
			t.Check(members.Paid != nil && members.Gas != nil, "allTimeValidatorPayments and allTimeGasSimulated", answer)
			return members.Paid.Int, members.Gas.Int
		}
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			if wei, gas := paid(m.signer); wei.Sign() <= 0 || gas.Sign() <= 0 {
				return errText("the signer has paid nothing, or no gas was simulated for it")
			}
			return nil
		})
		t.Check(err == nil, "what the signer's orders paid, and the gas of their simulations", err)
		wei, gas := paid(key(t))
		t.Check(wei.Sign() == 0 && gas.Sign() == 0, "nothing for a new key", fmt.Sprint(wei, " wei, ", gas, " gas"))
	})
}

// describeDelayedLists adds specs about what the methods about delayed refunds answer when there
// are some.
func describeDelayedLists(s *suite.Set) {
	m := new(refundSet)
	span := func(from, to uint64) object {
		query := object{"recipient": m.recipient.Hex()}
		if from != 0 {
			query["blockRangeFrom"] = hexNumber(from)
		}
		if to != 0 {
			query["blockRangeTo"] = hexNumber(to)
		}
		return query
	}
	all := func(t *suite.T) []record {
		m.makeDelayed(t)
		return m.listAll(t, delayedList, object{"recipient": m.recipient.Hex()})
	}
	s.Slow("RPC-DLY-07", "lists what was delayed, by the bundle's hash", func(t *suite.T) {
		all(t)
		for _, b := range m.backruns {
			want := strings.ToLower(bundleHash(b.target, b.tx).Hex())
			list, _ := allOf(t, delayedList, change(span(uint64(b.at.Block), uint64(b.at.Block)), object{"hash": want}))
			t.Check(len(list) == 1 && strings.EqualFold(list[0].Hash, want), "one record of "+want, list)
			t.Check(strings.EqualFold(list[0].Recipient, m.recipient.Hex()) &&
				number(t, "blockNumber", list[0].Block).Uint64() ==
					uint64(b.at.Block) && number(t, "amount", list[0].Amount).Sign() > 0,
				fmt.Sprintf("an amount for %s of block %d", m.recipient, uint64(b.at.Block)), list[0])
		}
		members := askRefunds(t, delayedList, object{"recipient": m.recipient.Hex()})
		t.Check(readQuantity(t, members, "indexedUpTo").Uint64() >= m.newest(),
			"indexedUpTo of at least "+hexNumber(m.newest()),
			string(members["indexedUpTo"]))
	})
	// ranges are ranges of blocks, with how many of the refunds lie in them. A bound of 0 is none.
	ranges := func(m *refundSet) map[[2]uint64]int {
		last := m.newest()
		first := uint64(m.backruns[0].at.Block)
		return map[[2]uint64]int{
			{first, first}: refundsMade - 1, {last, last}: 1, {first, last}: refundsMade, {first, last - 1}: refundsMade - 1,
			{first + 1, last}: 1, {last + 1, last + 1}: 0, {first - 1, first - 1}: 0,
			{last, 0}: 1, {0, first}: refundsMade - 1,
		}
	}
	s.Slow("RPC-DLY-08", "lists refunds of the first and the last block of a range", func(t *suite.T) {
		all(t)
		for bounds, want := range ranges(m) {
			list := pageOf(t, delayedList, span(bounds[0], bounds[1])).Refunds
			if most := t.Target.Limits.RefundsPerPage; most > 0 {
				want = min(want, most)
			}
			t.Check(len(list) == want, fmt.Sprintf("%d records of blocks %v", want, bounds), list)
		}
	})
	s.Slow("RPC-DLY-09", "continues at its cursors, and ends", func(t *suite.T) {
		list := all(t)
		query := object{"recipient": m.recipient.Hex()}
		most := t.Target.Limits.RefundsPerPage
		first := pageOf(t, delayedList, query)
		t.Check(len(first.Refunds) == min(most, len(list)) && (first.NextCursor != "") == (len(list) > most),
			fmt.Sprintf("%d of %d records, and nextCursor only if there are more", most, len(list)), first)
		block := uint64(m.backruns[0].at.Block)
		within, _ := allOf(t, delayedList, span(block, block))
		t.Check(len(within) == refundsMade-1, fmt.Sprintf("%d records on the pages of block %d", refundsMade-1, block),
			within)
		second := pageOf(t, delayedList, change(query, object{"cursor": first.NextCursor}))
		t.Check(len(second.Refunds) > 0 && second.Refunds[0] == list[len(first.Refunds)],
			fmt.Sprintf("a second page that begins with %+v", list[len(first.Refunds)]), second)
	})
	s.Slow("RPC-DLY-10", "has what came later when it is asked again", func(t *suite.T) {
		requireBuilders(t)
		later := &refundSet{}
		var query object
		later.makeOnce(t, func(t *suite.T) {
			query = object{"recipient": later.recipient.Hex(), "blockRangeFrom": "0x1",
				"blockRangeTo": hexNumber(head(t) + 500)}
			before := pageOf(t, delayedList, query)
			t.Check(len(before.Refunds) == 0, "no records of a new recipient", before)
			if before.NextCursor != "" {
				query["cursor"] = before.NextCursor
			}
			later.delayInOneBlock(t, 1)
		})
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			if len(pageOf(t, delayedList, query).Refunds) != 1 {
				return errNoRecord
			}
			return nil
		})
		t.Check(err == nil, fmt.Sprintf("the later record to %v", query), err)
	})
	s.Slow("RPC-DLT-04", "adds up what is listed, in a range too", func(t *suite.T) {
		list := all(t)
		checkTotals(t, askRefunds(t, delayedTotals, object{"recipient": m.recipient.Hex()}), list)
		for bounds := range ranges(m) {
			var within []record
			for _, r := range list {
				if block := number(t, "blockNumber", r.Block).Uint64(); block >= bounds[0] &&
					(bounds[1] == 0 || block <= bounds[1]) {
					within = append(within, r)
				}
			}
			totals := askRefunds(t, delayedTotals, span(bounds[0], bounds[1]))
			if len(within) == 0 {
				checkZeros(t, totals, "pending", "received")
				continue
			}
			checkTotals(t, totals, within)
		}
	})
}
