package rpc

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// uuid makes a random UUID, which no other spec uses.
func uuid(t *suite.T) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", t.Random.Uint32(), t.Random.Uint32()&0xffff, t.Random.Uint32()&0xfff,
		t.Random.Uint32()&0xfff,
		t.Random.Uint64()&0xffffffffffff)
}

// checkTaken fails the spec unless eth_sendBundle answers the bundle's hash. It returns the
// result's members.
func checkTaken(t *suite.T, answer *probe.RPCAnswer, txs ...*types.Transaction) object {
	var members object
	readResult(t, answer, &members)
	want := bundleHash(txs...).Hex()
	got, _ := members["bundleHash"].(string)
	t.Check(strings.EqualFold(got, want), "bundleHash "+want, members)
	return members
}

// describeSendBundle adds specs about eth_sendBundle.
func describeSendBundle(s *suite.Set) {
	const method = "eth_sendBundle"
	// plain adds a spec that sends a bundle of two transfers with changed members. The bundle must
	// be accepted.
	plain := func(clause, title string, changes func(t *suite.T) object) {
		s.It(clause, title, func(t *suite.T) {
			w := newWallet(t)
			txs := []*types.Transaction{w.send(1), w.send(2)}
			checkTaken(t, call(t, key(t), method, change(bundle(t, txs...), changes(t))), txs...)
		})
	}
	// never adds a spec that sends a bundle with changed members. The bundle must be refused. The
	// spec is inconclusive if the bundle without the changes is refused too.
	never := func(clause, title string, changes func(t *suite.T) object) {
		s.It(clause, title, func(t *suite.T) {
			w := newWallet(t)
			tx := w.send(1)
			checkRefused(t, call(t, key(t), method, change(bundle(t, tx), changes(t))))
			answer := call(t, key(t), method, bundle(t, tx))
			if answer.Refused() {
				t.Inconclusive("the same bundle without the mistake is refused too: %s", answer)
			}
		})
	}
	fixed := func(o object) func(*suite.T) object { return func(*suite.T) object { return o } }

	plain("RPC-BUN-01", "answers the hash of two transactions", fixed(nil))
	s.It("RPC-BUN-01", "answers the hash of one transaction", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkTaken(t, call(t, key(t), method, bundle(t, tx)), tx)
	})
	s.It("RPC-BUN-02", "refuses a bundle without txs", func(t *suite.T) {
		checkRightCall(t, "eth_sendBundle")
		checkRefused(t, call(t, key(t), method, object{"blockNumber": "0xffffff"}))
		checkRefused(t, call(t, key(t), method, object{"blockNumber": "0xffffff", "txs": []string{}}))
	})
	s.It("RPC-BUN-03", "takes 100 transactions", func(t *suite.T) {
		w := newWallet(t)
		var txs []*types.Transaction
		for range 100 {
			txs = append(txs, w.send(1))
		}
		checkTaken(t, call(t, key(t), method, bundle(t, txs...)), txs...)
	})
	s.It("RPC-BUN-03", "refuses 101 transactions", func(t *suite.T) {
		checkRightCall(t, "eth_sendBundle")
		w := newWallet(t)
		var txs []*types.Transaction
		for range 101 {
			txs = append(txs, w.send(1))
		}
		checkRefused(t, call(t, key(t), method, bundle(t, txs...)))
	})
	s.It("RPC-BUN-04", "refuses 300,001 bytes of transactions", func(t *suite.T) {
		checkRightCall(t, "eth_sendBundle")
		w := newWallet(t)
		var txs []*types.Transaction
		for range 4 {
			txs = append(txs, w.tx(&sink, 0, 16_000_000, make([]byte, 75_000)))
		}
		checkRefused(t, call(t, key(t), method, bundle(t, txs...)))
	})
	s.It("RPC-BUN-04", "takes 290,000 bytes of transactions", func(t *suite.T) {
		w := newWallet(t)
		var txs []*types.Transaction
		for range 4 {
			txs = append(txs, w.tx(&sink, 0, 16_000_000, make([]byte, 72_000)))
		}
		checkTaken(t, call(t, key(t), method, bundle(t, txs...)), txs...)
	})
	for _, text := range []string{"0x", "0x02", "0x1234", "no hex", "0x02f8"} {
		s.It("RPC-BUN-05", "refuses the transaction "+text, func(t *suite.T) {
			checkRightCall(t, "eth_sendBundle")
			checkRefused(t, call(t, key(t), method, object{"txs": []string{text}, "blockNumber": "0xffffff"}))
		})
	}
	s.It("RPC-BUN-05", "refuses a transaction with a byte behind it", func(t *suite.T) {
		tx := newWallet(t).send(1)
		good := bundle(t, tx)
		checkTaken(t, call(t, key(t), method, good), tx)
		checkRefused(t, call(t, key(t), method, change(good, object{"txs": []string{encodeTx(t, tx) + "00"}})))
	})
	s.It("RPC-BUN-05", "refuses what is no transaction behind one that is", func(t *suite.T) {
		tx := newWallet(t).send(1)
		good := bundle(t, tx)
		checkTaken(t, call(t, key(t), method, good), tx)
		checkRefused(t, call(t, key(t), method, change(good, object{"txs": []string{encodeTx(t, tx), "0x1234"}})))
	})
	never("RPC-BUN-06", "refuses a block that is there", func(t *suite.T) object {
		return object{"blockNumber": hexNumber(settledBlock(t))}
	})
	for _, number := range []any{"abc", "0xzz", []int{1}, true, -1} {
		s.It("RPC-BUN-07", fmt.Sprintf("refuses the block %v", number), func(t *suite.T) {
			checkRightCall(t, "eth_sendBundle")
			checkRefused(t, call(t, key(t), method, object{"txs": []string{"0x02"}, "blockNumber": number}))
		})
	}
	never("RPC-BUN-07", "refuses digits with a letter behind them as block", func(t *suite.T) object {
		return object{"blockNumber": hexNumber(head(t)+3) + "z"}
	})
	plain("RPC-BUN-08", "takes a window of time", fixed(object{"minTimestamp": 1, "maxTimestamp": 99_999_999_999}))
	never("RPC-BUN-09", "refuses a window that ends before it begins",
		fixed(object{"minTimestamp": 99_999_999_999, "maxTimestamp": 99_999_999_998}))
	plain("RPC-BUN-10", "takes empty revertingTxHashes", fixed(object{"revertingTxHashes": []string{}}))
	plain("RPC-BUN-10", "takes hashes in revertingTxHashes",
		fixed(object{"revertingTxHashes": []string{common.Hash{7}.Hex()}}))
	plain("RPC-BUN-11", "takes a replacementUuid", func(t *suite.T) object { return object{"replacementUuid": uuid(t)} })
	never("RPC-BUN-11", "refuses a replacementUuid that is none", fixed(object{"replacementUuid": "my-bundle"}))
	never("RPC-BUN-11", "refuses a replacementUuid with letters that are no digits",
		fixed(object{"replacementUuid": "zzzzzzzz-zzzz-4zzz-8zzz-zzzzzzzzzzzz"}))
	for _, form := range []string{"{%s}", "urn:uuid:%s"} {
		never("RPC-BUN-11", "refuses a replacementUuid in the form "+form, func(t *suite.T) object {
			return object{"replacementUuid": fmt.Sprintf(form, uuid(t))}
		})
	}
	never("RPC-BUN-11", "refuses 36 digits without hyphens as replacementUuid",
		fixed(object{"replacementUuid": strings.Repeat("0a1b", 9)}))
	s.It("RPC-BUN-01", "hashes each of four transactions", func(t *suite.T) {
		w := newWallet(t)
		txs := []*types.Transaction{w.send(1), w.send(2), w.send(3), w.send(4)}
		checkTaken(t, call(t, key(t), method, bundle(t, txs...)), txs...)
	})
	for _, builders := range [][]string{{"default"}, {"default", "conformance suite"}} {
		s.It("RPC-BUN-12", fmt.Sprintf("answers smart with %d builders", len(builders)), func(t *suite.T) {
			tx := newWallet(t).send(1)
			members := checkTaken(t, call(t, key(t), method, change(bundle(t, tx), object{"builders": builders})), tx)
			_, is := members["smart"].(string)
			t.Check(is, "smart as a string", members)
		})
	}
	s.It("RPC-BUN-13", "answers no smart without builders", func(t *suite.T) {
		tx := newWallet(t).send(1)
		_, has := checkTaken(t, call(t, key(t), method, bundle(t, tx)), tx)["smart"]
		t.Check(!has, "no smart", "smart")
	})
	plain("RPC-BUN-14", "takes builders that nobody knows", fixed(object{"builders": []string{"conformance suite"}}))
	s.It("RPC-BUN-15", "takes the same bundle again", func(t *suite.T) {
		w, signer := newWallet(t), key(t)
		tx := w.send(1)
		for range 2 {
			checkTaken(t, call(t, signer, method, bundle(t, tx)), tx)
		}
	})
	s.It("RPC-BUN-16", "refuses a transaction of another chain", func(t *suite.T) {
		checkRightCall(t, "eth_sendBundle")
		w := newWallet(t)
		w.chain = big.NewInt(424242)
		checkRefused(t, call(t, key(t), method, bundle(t, w.send(1))))
	})
	s.It("RPC-BUN-16", "refuses a transaction of another chain behind one of this", func(t *suite.T) {
		w, other := newWallet(t), newWallet(t)
		one := w.send(1)
		checkNoted(t, call(t, key(t), method, bundle(t, one)))
		other.chain = big.NewInt(424242)
		checkRefused(t, call(t, key(t), method, bundle(t, one, other.send(1))))
	})
	plain("RPC-BUN-17", "takes the nil UUID", fixed(object{"replacementUuid": "00000000-0000-0000-0000-000000000000"}))
	plain("RPC-BUN-19", "takes a bundle without builders", fixed(object{"builders": []string{}}))
}

// describeBundleTerms adds specs about what the members of eth_sendBundle do.
func describeBundleTerms(s *suite.Set) {
	s.Slow("RPC-BUN-21", "has the last of three versions in its block, and no earlier one", func(t *suite.T) {
		requireBuilders(t)
		missed := 0
		repeatUntilBuilt(t, func() bool {
			signer, name := key(t), object{"replacementUuid": uuid(t)}
			versions, witness := []*types.Transaction{newWallet(t).send(1), newWallet(t).send(2), newWallet(t).send(3)},
				newWallet(t).send(4)
			block, last := head(t)+3, versions[2]
			sendForBlock(t, block, nil, witness)
			include(t, last, witness)
			for i, tx := range versions {
				params := change(object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(block)}, name)
				checkTaken(t, call(t, signer, "eth_sendBundle", params), tx)
				_ = t.Eventually(slots(t, 6), func() error { // a bid before that may have the version before
					if len(listSent(t, tx)) == 0 && head(t) < block {
						return errNotSent
					}
					return nil
				})
				if len(listSent(t, tx)) > 0 && head(t) < block {
					continue
				}
				if missed++; i > 0 { // on a busy machine it may come too late for a block
					t.Check(missed < 4, fmt.Sprintf("version %d at the world's builder before its block, once in four", i+1),
						"it was never there")
				}
				return false
			}
			include(t, versions[:2]...)
			waitForBlock(t, block)
			for i, tx := range versions[:2] {
				t.Check(receiptOf(t, tx) == nil, fmt.Sprintf("no block with version %d, which was replaced", i+1),
					"it is in a block")
			}
			if receiptOf(t, witness) == nil {
				return false
			}
			t.Check(receiptOf(t, last) != nil, "the last version in its block", "no such bundle")
			return true
		})
	})
	s.Slow("RPC-BUN-21", "has no version in its block whose successor is for the next", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			signer, name := key(t), object{"replacementUuid": uuid(t)}
			older, newer, witness := newWallet(t).send(1), newWallet(t).send(2), newWallet(t).send(3)
			block := head(t) + 3
			for i, tx := range []*types.Transaction{older, newer} {
				params := change(object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(block + uint64(i))}, name)
				checkTaken(t, call(t, signer, "eth_sendBundle", params), tx)
			}
			sendForBlock(t, block, nil, witness)
			include(t, older, witness)
			waitForBlock(t, block)
			t.Check(receiptOf(t, older) == nil, "no block with the version that was replaced", "it is in a block")
			return receiptOf(t, witness) != nil
		})
	})
	s.Slow("RPC-BUN-17", "does not replace a bundle with the nil UUID", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			signer, none := key(t), object{"replacementUuid": "00000000-0000-0000-0000-000000000000"}
			txs := []*types.Transaction{newWallet(t).send(1), newWallet(t).send(2)}
			block := head(t) + 3
			for _, tx := range txs {
				params := change(object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(block)}, none)
				checkTaken(t, call(t, signer, "eth_sendBundle", params), tx)
			}
			include(t, txs...)
			waitForBlock(t, block)
			one, other := receiptOf(t, txs[0]), receiptOf(t, txs[1])
			t.Check((one == nil) == (other == nil), "both bundles in their block", "one of them")
			return one != nil
		})
	})
	s.Slow("RPC-BUN-22", "is in no block a second outside of its time, and in one at the very second", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			early, late, exact, anyTime := newWallet(t).send(1), newWallet(t).send(2), newWallet(t).send(3), newWallet(t).send(4)
			now := head(t)
			block, at := now+3, timeOf(t, now)+uint64(slots(t, 3).Seconds())
			sendForBlock(t, block, object{"minTimestamp": at + 1}, early)
			sendForBlock(t, block, object{"maxTimestamp": at - 1}, late)
			sendForBlock(t, block, object{"minTimestamp": at, "maxTimestamp": at}, exact)
			sendForBlock(t, block, nil, anyTime)
			include(t, early, late, exact, anyTime)
			waitForBlock(t, block)
			if timeOf(t, block) != at || receiptOf(t, anyTime) == nil {
				return false // a slot was missed, or the block is somebody else's
			}
			t.Check(receiptOf(t, early) == nil, "no block with a bundle before its minTimestamp", "it is in a block")
			t.Check(receiptOf(t, late) == nil, "no block with a bundle after its maxTimestamp", "it is in a block")
			t.Check(receiptOf(t, exact) != nil, "the bundle in its block, whose time is both of its bounds", "it is in none")
			return true
		})
	})
	s.Slow("RPC-BUN-23", "is in its block with two transactions that revert and may", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			txs, witness := []*types.Transaction{newWallet(t).send(1), newWallet(t).create(0, codeRevert),
				newWallet(t).create(0, codeRevert)}, newWallet(t).send(2)
			block := head(t) + 3
			sendForBlock(t, block, object{"revertingTxHashes": []string{txs[1].Hash().Hex(), txs[2].Hash().Hex()}}, txs...)
			sendForBlock(t, block, nil, witness)
			include(t, append(txs, witness)...)
			waitForBlock(t, block)
			if receiptOf(t, witness) == nil {
				return false
			}
			checkLandedReverted(t, txs)
			return true
		})
	})
	s.Slow("RPC-BUN-24", "goes to the second of two builders that are named", func(t *suite.T) {
		checkGoesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			sendForBlock(t, head(t)+3, object{"builders": world.BuilderNames[:2]}, tx)
		})
	})
	s.Slow("RPC-BUN-24", "goes to the builder that is named, and not to the other one", func(t *suite.T) {
		checkGoesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			sendForBlock(t, head(t)+3, object{"builders": []string{world.BuilderNames[1]}}, tx)
		})
	})
}

// sendForBlock sends transactions as one bundle for a block.
func sendForBlock(t *suite.T, block uint64, changes object, txs ...*types.Transaction) {
	params := change(object{"txs": encodeTxs(t, txs...), "blockNumber": hexNumber(block)}, changes)
	if answer := call(t, key(t), "eth_sendBundle", params); answer.Refused() {
		t.Inconclusive("the bundle is refused: %s", answer)
	}
}

// describeWholeBundles adds specs about bundles, which are in the chain whole and in order.
func describeWholeBundles(s *suite.Set) {
	s.It("RPC-BUN-18", "is in its block whole and in order", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			// from three wallets, so that each transaction would be valid alone
			txs := []*types.Transaction{newWallet(t).send(3), newWallet(t).send(1), newWallet(t).send(2)}
			block := head(t) + 2
			sendForBlock(t, block, nil, txs...)
			include(t, txs...)
			waitForBlock(t, block)
			return checkWholeAt(t, block, txs) > 0
		})
	})
	for _, row := range []struct {
		clause, title string
		changes       object
	}{
		{"RPC-BUN-18", "is not there in part", nil},
		{"RPC-BUN-10", "is not there in part with an empty list of revertingTxHashes",
			object{"revertingTxHashes": []string{}}},
	} {
		s.It(row.clause, row.title, func(t *suite.T) {
			requireBuilders(t)
			repeatUntilBuilt(t, func() bool {
				txs, witness := []*types.Transaction{newWallet(t).send(1), newWallet(t).create(0, codeRevert)}, newWallet(t).send(1)
				block := head(t) + 2
				sendForBlock(t, block, row.changes, txs...)
				sendForBlock(t, block, nil, witness)
				include(t, append(txs, witness)...)
				waitForBlock(t, block)
				checkKeptOut(t, txs)
				return receiptOf(t, witness) != nil
			})
		})
	}
}

// checkWholeAt fails the spec unless all transactions of a bundle are in the block, one right
// behind the other, or none is. It returns how many are.
func checkWholeAt(t *suite.T, block uint64, txs []*types.Transaction) (found int) {
	first := receiptOf(t, txs[0])
	for i, tx := range txs {
		if r := receiptOf(t, tx); r != nil {
			found++
			t.Check(uint64(r.Block) == block, fmt.Sprintf("transaction %d in block %d", i, block), r.Block)
			t.Check(first != nil && uint64(r.Place) == uint64(first.Place)+uint64(i),
				fmt.Sprintf("transaction %d of the bundle right behind the one before it", i), r.Place)
		}
	}
	t.Check(found == 0 || found == len(txs), "all transactions of the bundle, or none",
		fmt.Sprintf("%d of %d", found, len(txs)))
	return found
}

// checkLandedReverted fails the spec unless both transactions of a bundle are in a block, and the
// second one, which may, has reverted.
func checkLandedReverted(t *suite.T, txs []*types.Transaction) {
	for i, tx := range txs {
		r := receiptOf(t, tx)
		t.Check(r != nil, fmt.Sprintf("transaction %d of a bundle of which all but the first may revert in its block", i),
			"none")
		t.Check((r.Status == 1) == (i == 0), "all reverted but the first", r)
	}
}

// checkKeptOut fails the spec if a transaction of a bundle whose second one reverts is in a block.
func checkKeptOut(t *suite.T, txs []*types.Transaction) {
	for i, tx := range txs {
		t.Check(receiptOf(t, tx) == nil,
			fmt.Sprintf("no transaction of a bundle whose second one reverts; transaction %d is not there", i),
			"it is in a block")
	}
}
