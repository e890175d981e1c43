package rpc

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// newRules is code that runs in a fork and fails in all forks before it, in hexadecimal without 0x.
// It needs nothing from the chain, leaves the stack as it was, and each fork's differs from the
// others'.
var newRules = eth.Column[string]{
	eth.Bellatrix: "",               // there is no fork before it
	eth.Capella:   "5f50",           // EIP-3855: PUSH0
	eth.Deneb:     "6000600060005e", // EIP-5656: MCOPY
	// EIP-2537: BLS12_G1ADD of two points at infinity returns a point; an address without code
	// nothing.
	eth.Electra: "60006000610100" + "6000600b5afa50" + "3d601757" + "60006000fd5b",
	eth.Fulu:    "60011e50", // EIP-7939: CLZ
}

// codeOfNextFork is code of a contract's creation that logs something if it is executed by the
// rules of the world's second fork, and fails by those of the first.
func codeOfNextFork(t *suite.T) string {
	next, _ := t.World.Facts.ForkAt(t.World.Facts.NextForkSlot)
	code, err := newRules.Of(next, "code that no fork before it runs")
	t.Ready(err, "make code of the new fork")
	return "0x" + code + "60006000a000"
}

// waitBeforeFork begins a spec that goes over a fork. It is not run in a world of one fork, and
// inconclusive if fewer than so many slots are left before the fork.
func waitBeforeFork(t *suite.T, atLeast uint64) {
	facts := t.World.Facts
	if facts.NextFork == "" {
		t.NotRun("all slots of the world are of %s: give it a second fork (--fork-at)", facts.Fork)
	}
	waitBegun(t)
	if uint64(facts.Newest(t.Now()))+atLeast > uint64(facts.NextForkSlot) {
		t.Inconclusive("the fork of slot %d is over, or too near", facts.NextForkSlot)
	}
}

// forkTime is the time of the fork's first slot, in seconds since 1970.
func forkTime(t *suite.T) uint64 { return uint64(t.World.Facts.At(t.World.Facts.NextForkSlot).Unix()) }

// shortlyBefore is how many slots before the fork an order for blocks after it is sent: servers
// take no orders for blocks far ahead.
const shortlyBefore = 3

// waitNearFork waits until the fork is near. Then one slot, at least, has no block yet that is
// before the fork.
func waitNearFork(t *suite.T) { t.Until(t.World.Facts.At(t.World.Facts.NextForkSlot - shortlyBefore)) }

// firstBlockOfFork returns the number of a block that is in the new fork: the first or the second
// one, or a later one if slots are missed until then.
func firstBlockOfFork(t *suite.T) uint64 {
	return head(t) + uint64(t.World.Facts.NextForkSlot-t.World.Facts.Newest(t.Now())) + 1
}

// waitOverFork waits until a block of the new fork has a successor, so that every node knows it.
func waitOverFork(t *suite.T) {
	t.Until(t.World.Facts.At(t.World.Facts.NextForkSlot))
	err := t.Eventually(slots(t, 12), func() error {
		if at := head(t); at == 0 || timeOf(t, at-1) < forkTime(t) {
			return errNoBlock
		}
		return nil
	})
	t.Ready(err, "wait for blocks of "+t.World.Facts.NextFork)
}

// checkInNewFork fails the spec unless a transaction is in a block of the new fork and did not
// fail. The witness is a transaction of an order that was sent after the fork, for the same blocks:
// if it is in none either, these blocks were not made by the world's builder.
func checkInNewFork(t *suite.T, tx, witness *types.Transaction) {
	r := waitLanded(t, tx, slots(t, patience))
	if r == nil && receiptOf(t, witness) == nil {
		t.Inconclusive("no block of the world's builder was among those of the order")
	}
	t.Check(r != nil, "the order in a block of "+t.World.Facts.NextFork, "it is in none, and an order beside it is")
	at := timeOf(t, uint64(r.Block))
	t.Check(at >= forkTime(t) && r.Status == 1, fmt.Sprintf("it executed, at %d or later", forkTime(t)),
		fmt.Sprintf("status %d at %d", r.Status, at))
}

// sendWitnesses sends one order for each of the blocks, has the world's builder include them, and
// returns their transactions by their blocks.
func sendWitnesses(t *suite.T, from, to uint64) map[uint64]*types.Transaction {
	witnesses := map[uint64]*types.Transaction{}
	for block := from; block <= to; block++ {
		witnesses[block] = newWallet(t).send(1)
		sendForBlock(t, block, nil, witnesses[block])
		include(t, witnesses[block])
	}
	return witnesses
}

// findMade are those of the witnessed blocks that the world's builder made. The spec is
// inconclusive if it made none.
func findMade(t *suite.T, witnesses map[uint64]*types.Transaction) (blocks []uint64) {
	for block, witness := range witnesses {
		if receiptOf(t, witness) != nil {
			blocks = append(blocks, block)
		}
	}
	if len(blocks) == 0 {
		t.Inconclusive("none of %d blocks after the fork was made by the world's builder", len(witnesses))
	}
	return blocks
}

// forkBlocks is for how many blocks of the new fork the specs have orders of one block each: blocks
// of other specs are not made by the world's builder.
const forkBlocks = 7

// describeOrdersOverFork adds specs about what is acknowledged before a fork, and executed after
// it.
func describeOrdersOverFork(s *suite.Set) {
	s.Slow("RPC-FRK-01", "has a bundle of eth_sendBundle in its block after the fork", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 4)
		first, code := firstBlockOfFork(t), codeOfNextFork(t)
		var news []*types.Transaction
		for i := range uint64(forkBlocks) {
			news = append(news, newWallet(t).create(0, code))
			sendForBlock(t, first+i, nil, news[i])
		}
		include(t, news...)
		waitOverFork(t)
		witnesses := sendWitnesses(t, head(t)+2, first+forkBlocks-1)
		waitForBlock(t, first+forkBlocks)
		for _, block := range findMade(t, witnesses) {
			checkInNewFork(t, news[block-first], witnesses[block])
		}
	})
	s.Slow("RPC-FRK-01", "has a bundle of mev_sendBundle in a block after the fork", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 4)
		waitNearFork(t)
		first := firstBlockOfFork(t)
		tx, witness := newWallet(t).create(0, codeOfNextFork(t)), newWallet(t).send(1)
		window := object{"inclusion": object{"block": hexNumber(first), "maxBlock": hexNumber(first + patience)}}
		checkNoted(t, call(t, key(t), "mev_sendBundle", change(share(t, tx), window)))
		include(t, tx, witness)
		waitOverFork(t)
		checkNoted(t, call(t, key(t), "mev_sendBundle", change(makeSoonParams(t, patience), object{"body": body(t,
			witness)})))
		checkInNewFork(t, tx, witness)
	})
	s.Slow("RPC-FRK-02", "offers a bundle for blocks on both sides, and has it in one after the fork", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 4)
		waitNearFork(t)
		tx, first := newWallet(t).send(1), firstBlockOfFork(t)
		window := object{"inclusion": object{"block": hexNumber(head(t) + 1), "maxBlock": hexNumber(first + patience)}}
		checkNoted(t, call(t, key(t), "mev_sendBundle", change(share(t, tx), window)))
		waitBuilderHas(t, tx) // an offer for blocks of the fork before
		waitOverFork(t)
		witness := newWallet(t).send(1)
		checkNoted(t, call(t, key(t), "mev_sendBundle", change(makeSoonParams(t, patience), object{"body": body(t,
			witness)})))
		waitBuilderHas(t, witness)
		_, _, last := countOffered(t, tx)
		t.Check(last > head(t)-2, "offers for blocks after the fork", fmt.Sprintf("up to block %d", last))
		include(t, tx, witness)
		checkInNewFork(t, tx, witness)
	})
	s.Slow("RPC-FRK-04", "tries a private transaction after the fork", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 4)
		tx := newWallet(t).send(1)
		checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": quiet}), tx)
		waitBuilderHas(t, tx)
		waitOverFork(t)
		witness := newWallet(t).send(1)
		checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, witness),
			"preferences": quiet}), witness)
		waitBuilderHas(t, witness)
		_, _, last := countOffered(t, tx)
		t.Check(last > head(t)-2, "offers for blocks after the fork", fmt.Sprintf("up to block %d", last))
		include(t, tx, witness)
		checkInNewFork(t, tx, witness)
	})
}

// describeCancelsOverFork adds specs about what is acknowledged before a fork, and cancelled after
// it.
func describeCancelsOverFork(s *suite.Set) {
	s.Slow("RPC-FRK-05", "cancels a bundle that was sent before the fork", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 4)
		first, signer, name := firstBlockOfFork(t)+3, key(t), uuid(t)
		var bundles []*types.Transaction
		for i := range uint64(forkBlocks) { // each its own name: one for all would leave the last one alone
			bundles = append(bundles, newWallet(t).send(1))
			checkTaken(t, call(t, signer, "eth_sendBundle", object{"txs": encodeTxs(t, bundles[i]),
				"blockNumber": hexNumber(first + i), "replacementUuid": uuidOf(name, i)}), bundles[i])
		}
		waitOverFork(t)
		for i := range uint64(forkBlocks) {
			if answer := call(t, signer, "eth_cancelBundle", object{"replacementUuid": uuidOf(name, i)}); answer.Refused() {
				t.Inconclusive("the cancel is refused: %s", answer)
			}
		}
		from := max(first, head(t)+2) // a bid for the next block may be earlier than the cancel
		witnesses := sendWitnesses(t, from, first+forkBlocks-1)
		include(t, bundles[min(from-first, forkBlocks):]...)
		waitForBlock(t, first+forkBlocks)
		for _, block := range findMade(t, witnesses) {
			t.Check(receiptOf(t, bundles[block-first]) == nil, "no block with a bundle that was cancelled after the fork",
				"it is in a block")
		}
	})
	s.Slow("RPC-FRK-05", "cancels a private transaction that was sent before the fork", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 4)
		signer, tx := key(t), newWallet(t).send(1)
		checkSent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": quiet}), tx)
		waitBuilderHas(t, tx)
		waitOverFork(t)
		cancels := func(by *ecdsa.PrivateKey, want bool) {
			var gone bool
			readResult(t, call(t, by, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), &gone)
			t.Check(gone == want, fmt.Sprint(want), gone)
		}
		cancels(key(t), false)
		cancels(signer, true)
		at := head(t)
		waitForBlock(t, at+4)
		for _, s := range listSent(t, tx) {
			t.Check(s.Head <= at+1, fmt.Sprintf("no offer after block %d, when it was cancelled", at+1), s)
		}
	})
}

// uuidOf makes another UUID of a UUID, by its last digit.
func uuidOf(uuid string, i uint64) string { return fmt.Sprintf("%s%x", uuid[:len(uuid)-1], i) }

// describeCallsOverFork adds specs about simulations of blocks on both sides.
func describeCallsOverFork(s *suite.Set) {
	s.Slow("RPC-FRK-03", "executes eth_callBundle by the rules of its time", func(t *suite.T) {
		waitBeforeFork(t, 3)
		tx, state := newWallet(t).create(0, codeOfNextFork(t)), hexNumber(settledBlock(t))
		fails := func(when string, at uint64, changes object, want bool) {
			c := simulate(t, change(object{"timestamp": at}, changes), tx)
			failed := len(c.Results[0].Error) > 0 && string(c.Results[0].Error) != "null"
			t.Check(failed == want, fmt.Sprintf("%s, with timestamp %d, failed: %v", when, at, want),
				fmt.Sprintf("failed: %v: %s", failed, c.Results[0].Error))
		}
		fork := forkTime(t)
		fails("before the fork", fork-1, nil, true)
		fails("before the fork", fork, nil, false)
		waitOverFork(t)
		fails("after the fork", uint64(t.Now().Unix()), nil, false)
		older := object{"stateBlockNumber": state}
		fails("after the fork, on an older state", fork-1, older, true)
		fails("after the fork, on an older state", fork, older, false)
	})
	s.Slow("RPC-FRK-03", "executes mev_simBundle by the rules of its time", func(t *suite.T) {
		waitBeforeFork(t, 3)
		tx := newWallet(t).create(0, codeOfNextFork(t))
		succeeds := func(when string, at uint64, want bool) {
			m := simulateShare(t, newestParams(t, tx), object{"timestamp": at})
			t.Check(m.success(t) == want, fmt.Sprintf("%s, with timestamp %d, success: %v", when, at, want),
				fmt.Sprintf("%s %s", m["success"], m["error"]))
		}
		succeeds("before the fork", forkTime(t)-1, false)
		succeeds("before the fork", forkTime(t), true)
		waitOverFork(t)
		succeeds("after the fork", uint64(t.Now().Unix()), true)
	})
}

// describeRefundsOverFork adds specs about refunds of blocks on both sides.
func describeRefundsOverFork(s *suite.Set) {
	s.Slow("RPC-FRK-06", "counts refunds of blocks on both sides", func(t *suite.T) {
		requireBuilders(t)
		waitBeforeFork(t, 6)
		waitRefundsListed(t)
		waitBeforeFork(t, 4)
		owner := newWallet(t)
		refund := []object{{"bodyIdx": 0, "percent": 90}}
		older := sendBundled(t, owner, refund, owner.send(1))
		if timeOf(t, uint64(older.at.Block)) >= forkTime(t) {
			t.Inconclusive("the first refund is of a block after the fork")
		}
		waitOverFork(t)
		newer := sendBundled(t, owner, refund, owner.send(1))
		var list []record
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			if list = listRecords(t, owner.address()); len(list) < 2 {
				return errNoRecord
			}
			return nil
		})
		t.Check(err == nil && len(list) == 2, "a record of each side's refund", list)
		blocks := map[uint64]bool{}
		for _, r := range list {
			blocks[number(t, "blockNumber", r.Block).Uint64()] = true
		}
		t.Check(blocks[uint64(older.at.Block)] && blocks[uint64(newer.at.Block)],
			fmt.Sprintf("refunds of blocks %d and %d", older.at.Block, newer.at.Block), list)
		checkTotals(t, askRefunds(t, totalsOf, owner.address().Hex()), list)
	})
}
