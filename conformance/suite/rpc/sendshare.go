package rpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// hints are all names of hints that the description has.
var hints = []string{"calldata", "contract_address", "logs", "default_logs", "function_selector", "hash",
	"tx_hash", "full"}

// body makes the elements of a body: transactions that may not revert.
func body(t *suite.T, txs ...*types.Transaction) []object {
	list := make([]object, len(txs))
	for i, tx := range txs {
		list[i] = object{"tx": encodeTx(t, tx), "canRevert": false}
	}
	return list
}

// share makes valid parameters of mev_sendBundle.
func share(t *suite.T, txs ...*types.Transaction) object {
	return object{"version": "v0.1", "inclusion": object{"block": hexNumber(head(t) + 2)}, "body": body(t, txs...)}
}

// validity has the refunds of a bundle of mev_sendBundle.
func validity(refunds ...object) object {
	return object{"validity": object{"refund": refunds}}
}

// checkHash fails the spec unless the answer has the bundle's hash.
func checkHash(t *suite.T, answer *probe.RPCAnswer, want common.Hash) {
	var members object
	readResult(t, answer, &members)
	got, _ := members["bundleHash"].(string)
	t.Check(strings.EqualFold(got, want.Hex()), "bundleHash "+want.Hex(), members)
}

// checkNoted fails the spec unless the answer has the form of a bundle's hash.
func checkNoted(t *suite.T, answer *probe.RPCAnswer) {
	var members object
	readResult(t, answer, &members)
	got, _ := members["bundleHash"].(string)
	t.Check(len(got) == 66 && strings.HasPrefix(got, "0x"), "an object with bundleHash", members)
}

var errRefused = errors.New("refused")

// describeSendShare adds specs about mev_sendBundle.
func describeSendShare(s *suite.Set) {
	const method = "mev_sendBundle"
	plain := func(clause, title string, changes func(t *suite.T, w *wallet) object) {
		s.It(clause, title, func(t *suite.T) {
			w := newWallet(t)
			checkNoted(t, call(t, key(t), method, change(share(t, w.send(1)), changes(t, w))))
		})
	}
	never := func(clause, title string, changes func(t *suite.T, w *wallet) object) {
		s.It(clause, title, func(t *suite.T) {
			w := newWallet(t)
			tx := w.send(1)
			checkRefused(t, call(t, key(t), method, change(share(t, tx), changes(t, w))))
			if answer := call(t, key(t), method, share(t, tx)); answer.Refused() {
				t.Inconclusive("the same bundle without the mistake is refused too: %s", answer)
			}
		})
	}
	fixed := func(o object) func(*suite.T, *wallet) object { return func(*suite.T, *wallet) object { return o } }

	plain("RPC-SHR-01", "answers an object with the hash", fixed(nil))
	plain("RPC-SHR-02", "takes v0.1", fixed(object{"version": "v0.1"}))
	for _, version := range []any{"v9", "", 1, nil} {
		s.It("RPC-SHR-03", fmt.Sprintf("refuses version %v", version), func(t *suite.T) {
			checkRightCall(t, "mev_sendBundle")
			checkRefused(t, call(t, key(t), method,
				change(object{"inclusion": object{"block": "0xffffff"}, "body": []object{{"tx": "0x02"}}},
					object{"version": version})))
		})
	}
	for _, version := range []string{"v9", "v0.10", "v0.1.1"} {
		never("RPC-SHR-03", "refuses version "+version+" of an order that is right otherwise",
			fixed(object{"version": version}))
	}
	s.It("RPC-SHR-04", "refuses a bundle without a block", func(t *suite.T) {
		checkRightCall(t, "mev_sendBundle")
		checkRefused(t, call(t, key(t), method, object{"version": "v0.1", "inclusion": object{},
			"body": []object{{"tx": "0x02", "canRevert": false}}}))
		checkRefused(t, call(t, key(t), method, object{"version": "v0.1", "body": []object{{"tx": "0x02",
			"canRevert": false}}}))
	})
	window := func(from, to int64) func(t *suite.T, _ *wallet) object {
		return func(t *suite.T, _ *wallet) object {
			at := int64(head(t))
			return object{"inclusion": object{"block": hexNumber(uint64(max(at+from, 1))),
				"maxBlock": hexNumber(uint64(max(at+to, 1)))}}
		}
	}
	never("RPC-SHR-05", "refuses a window that ends before it begins", window(4, 3))
	plain("RPC-SHR-06", "takes a bundle without maxBlock", fixed(nil))
	plain("RPC-SHR-06", "takes a window of some blocks", window(2, 5))
	never("RPC-SHR-07", "refuses a window of 40 blocks", window(2, 42))
	never("RPC-SHR-07", "refuses a maxBlock that is 31 above block", window(2, 33))
	never("RPC-SHR-08", "refuses a window that is over", window(-3, -2))
	s.It("RPC-SHR-09", "refuses an empty body", func(t *suite.T) {
		checkRightCall(t, "mev_sendBundle")
		checkRefused(t, call(t, key(t), method, object{"version": "v0.1", "inclusion": object{"block": "0xffffff"},
			"body": []object{}}))
		checkRefused(t, call(t, key(t), method, object{"version": "v0.1", "inclusion": object{"block": "0xffffff"}}))
	})
	never("RPC-SHR-04", "refuses a maxBlock without a block", func(t *suite.T, _ *wallet) object {
		return object{"inclusion": object{"maxBlock": hexNumber(head(t) + 2)}}
	})
	for _, row := range []struct {
		title string
		more  func(t *suite.T, w *wallet) object
	}{
		{"refuses an element that is a transaction and a bundle", func(t *suite.T, w *wallet) object {
			return object{"bundle": share(t, w.send(7))}
		}},
		{"refuses an element that is a transaction and a hash", func(*suite.T, *wallet) object {
			return object{"hash": common.Hash{9}.Hex()}
		}},
		{"refuses an element that is nothing", func(*suite.T, *wallet) object { return object{"tx": nil, "canRevert": nil} }},
	} {
		s.It("RPC-SHR-30", row.title, func(t *suite.T) {
			w := newWallet(t)
			good := share(t, w.send(1), w.send(2))
			elements := slices.Clone(good["body"].([]object))
			elements[1] = change(elements[1], row.more(t, w))
			checkRefused(t, call(t, key(t), method, change(good, object{"body": elements})))
			checkNoted(t, call(t, key(t), method, good))
		})
	}
	s.It("RPC-SHR-10", "takes transactions that may revert", func(t *suite.T) {
		w := newWallet(t)
		params := share(t, w.send(1), w.create(0, codeRevert))
		params["body"].([]object)[1]["canRevert"] = true
		checkNoted(t, call(t, key(t), method, params))
	})
	s.It("RPC-SHR-11", "takes a bundle within the bundle", func(t *suite.T) {
		w := newWallet(t)
		inner := change(share(t, w.send(1)), nil)
		inner["inclusion"] = object{"block": hexNumber(head(t) + 2), "maxBlock": hexNumber(head(t) + 4)}
		outer := change(inner, object{"body": append([]object{{"bundle": inner}}, body(t, w.send(2))...)})
		checkNoted(t, call(t, key(t), method, outer))
	})
	s.It("RPC-SHR-11", "takes two bundles within the bundle", func(t *suite.T) {
		w := newWallet(t)
		one, other := share(t, w.send(1)), share(t, w.send(2))
		outer := change(one, object{"body": append([]object{{"bundle": one}, {"bundle": other}}, body(t, w.send(3))...)})
		checkNoted(t, call(t, key(t), method, outer))
	})
	s.It("RPC-SHR-12", "refuses the hash of an order that shares nothing", func(t *suite.T) {
		target, follower, window := newWallet(t).send(1), newWallet(t).send(2), makeSoonParams(t, 20)
		checkHash(t, call(t, key(t), method, change(window, object{"body": body(t, target)})), target.Hash())
		double := crypto.Keccak256Hash(target.Hash().Bytes()).Hex()
		following := change(window, object{"body": append([]object{{"hash": double}}, body(t, follower)...)})
		err := t.Eventually(t.Target.Budgets.Hint(), func() error {
			if call(t, key(t), method, following).Refused() {
				return errRefused
			}
			return nil
		})
		t.Check(err != nil, "a refusal, also once the order was simulated", "it was taken")
	})
	s.It("RPC-SHR-12", "refuses a hash that no hint has", func(t *suite.T) {
		checkRightCall(t, "mev_sendBundle")
		w := newWallet(t)
		checkRefused(t, call(t, key(t), method,
			change(share(t), object{"body": append([]object{{"hash": common.Hash{9}.Hex()}}, body(t, w.send(1))...)})))
	})
	s.It("RPC-SHR-12", "refuses the hash of a transaction in place of its hint's", func(t *suite.T) {
		owner, searcher := newWallet(t), newWallet(t)
		target, follower := owner.send(1), searcher.send(2)
		hint := object{"privacy": object{"hints": []string{"hash"}}}
		window := object{"inclusion": object{"block": hexNumber(head(t) + 2), "maxBlock": hexNumber(head(t) + 20)}}
		checkHash(t, call(t, key(t), "mev_sendBundle", change(change(share(t, target), hint), window)), target.Hash())
		following := change(change(share(t), window),
			object{"body": append([]object{{"hash": target.Hash().Hex()}}, body(t, follower)...)})
		err := t.Eventually(t.Target.Budgets.Hint(), func() error {
			if call(t, key(t), "mev_sendBundle", following).Refused() {
				return fmt.Errorf("refused, as it must be")
			}
			return nil
		})
		t.Check(err != nil, "a refusal, also once the order is shared", "it was taken")
	})
	s.It("RPC-SHR-13", "refuses a hash after the first place", func(t *suite.T) {
		checkRightCall(t, "mev_sendBundle")
		elements := []object{{"tx": "0x02", "canRevert": false}, {"hash": common.Hash{9}.Hex()}}
		checkRefused(t, call(t, key(t), method, object{"version": "v0.1", "inclusion": object{"block": "0xffffff"},
			"body": elements}))
	})
	s.It("RPC-SHR-14", "refuses two backruns", func(t *suite.T) {
		searcher := newWallet(t)
		b := &backrun{owner: newWallet(t), tx: searcher.send(1)}
		b.target = b.owner.send(1)
		b.targetHash = b.target.Hash()
		checkHash(t, call(t, key(t), method, change(makeSoonParams(t, 20), object{"body": body(t, b.target),
			"privacy": object{"hints": []string{"hash"}}})), b.targetHash)
		b.follow(t) // one backrun is taken
		two := body(t, searcher.send(1), searcher.send(2))
		followed := object{"hash": crypto.Keccak256Hash(b.targetHash[:]).Hex()}
		for _, behind := range [][]object{two, {{"bundle": change(makeSoonParams(t, 20), object{"body": two})}}} {
			checkRefused(t, call(t, key(t), method, change(makeSoonParams(t, 20), object{"body": append([]object{followed},
				behind...)})))
		}
	})
	never("RPC-SHR-15", "refuses refunds of 101 %",
		fixed(object{"validity": object{"refund": []object{{"bodyIdx": 0, "percent": 101}}}}))
	s.It("RPC-SHR-15", "refuses refunds of 101 % in an inner bundle", func(t *suite.T) {
		w := newWallet(t)
		inner := share(t, w.send(1), w.send(2), w.send(3))
		outer := func(last int) object {
			list := validity(object{"bodyIdx": 0, "percent": 60}, object{"bodyIdx": 1, "percent": last})
			return change(share(t), object{"body": []object{{"bundle": change(inner, list)}}})
		}
		checkNoted(t, call(t, key(t), "mev_sendBundle", outer(40)))
		checkRefused(t, call(t, key(t), "mev_sendBundle", outer(41)))
	})
	s.It("RPC-SHR-15", "refuses refunds of 101 % for three", func(t *suite.T) {
		w := newWallet(t)
		params := share(t, w.send(1), w.send(2), w.send(3), w.send(4))
		three := func(last int) object {
			return change(params, validity(object{"bodyIdx": 0, "percent": 50}, object{"bodyIdx": 1, "percent": 40},
				object{"bodyIdx": 2, "percent": last}))
		}
		checkNoted(t, call(t, key(t), method, three(10)))
		checkRefused(t, call(t, key(t), method, three(11)))
	})
	never("RPC-SHR-16", "refuses a refund of an element that is not there",
		fixed(object{"validity": object{"refund": []object{{"bodyIdx": 5, "percent": 10}}}}))
	s.It("RPC-SHR-16", "refuses the index that follows the last", func(t *suite.T) {
		w := newWallet(t)
		params := share(t, w.send(1), w.send(2))
		checkNoted(t, call(t, key(t), "mev_sendBundle", change(params, validity(object{"bodyIdx": 1, "percent": 10}))))
		checkRefused(t, call(t, key(t), "mev_sendBundle", change(params, validity(object{"bodyIdx": 2, "percent": 10}))))
	})
	never("RPC-SHR-17", "refuses a split of 101 %", fixed(object{"validity": object{"refundConfig": []object{
		{"address": sink.Hex(), "percent": 60}, {"address": common.Address{1}.Hex(), "percent": 41},
	}}}))
	never("RPC-SHR-17", "refuses a split of 101 % among three", fixed(object{"validity": object{"refundConfig": []object{
		{"address": sink.Hex(), "percent": 50}, {"address": common.Address{1}.Hex(), "percent": 40},
		{"address": common.Address{2}.Hex(), "percent": 11},
	}}}))
	s.It("RPC-SHR-17", "refuses a split of 101 % in an inner bundle", func(t *suite.T) {
		w := newWallet(t)
		inner := share(t, w.send(1))
		outer := func(last int) object {
			split := object{"validity": object{"refundConfig": []object{{"address": sink.Hex(), "percent": 60},
				{"address": common.Address{1}.Hex(), "percent": last}}}}
			return change(share(t), object{"body": []object{{"bundle": change(inner, split)}}})
		}
		checkNoted(t, call(t, key(t), method, outer(40)))
		checkRefused(t, call(t, key(t), method, outer(41)))
	})
	for _, hint := range hints {
		plain("RPC-SHR-18", "takes the hint "+hint, fixed(object{"privacy": object{"hints": []string{hint}}}))
	}
	s.It("RPC-SHR-19", "refuses an unknown hint", func(t *suite.T) {
		checkRightCall(t, "mev_sendBundle")
		checkRefused(t, call(t, key(t), method, object{
			"version": "v0.1", "inclusion": object{"block": "0xffffff"}, "body": []object{{"tx": "0x02", "canRevert": false}},
			"privacy": object{"hints": []string{"everything"}},
		}))
	})
	never("RPC-SHR-19", "refuses an unknown hint in an order that is right otherwise",
		fixed(object{"privacy": object{"hints": []string{"everything"}}}))
	never("RPC-SHR-19", "refuses an unknown hint beside one that is known",
		fixed(object{"privacy": object{"hints": []string{"hash", "everything"}}}))
	plain("RPC-SHR-20", "takes builders", fixed(object{"privacy": object{"builders": []string{"default"}}}))
	plain("RPC-SHR-21", "takes an origin", fixed(object{"metadata": object{"originId": "conformance"}}))
	plain("RPC-SHR-22", "takes empty validity and privacy", fixed(object{"validity": object{}, "privacy": object{}}))
	s.It("RPC-SHR-23", "answers the hash of the only transaction", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkHash(t, call(t, key(t), method, share(t, tx)), tx.Hash())
	})
	s.It("RPC-SHR-24", "answers the hash of all hashes", func(t *suite.T) {
		w := newWallet(t)
		one, two := w.send(1), w.send(2)
		checkHash(t, call(t, key(t), method, share(t, one, two)), bundleHash(one, two))
	})
	s.It("RPC-SHR-26", "takes a backrun of a hint", func(t *suite.T) {
		owner, searcher := newWallet(t), newWallet(t)
		var answer *probe.RPCAnswer
		for range 3 { // an order may be included before it is followed
			target := owner.send(1)
			long := makeSoonParams(t, 20) // so that both have blocks in common, however late the second one is sent
			checkHash(t, call(t, key(t), method,
				change(long, object{"body": body(t, target), "privacy": object{"hints": []string{"hash"}}})), target.Hash())
			double := crypto.Keccak256Hash(target.Hash().Bytes()).Hex()
			backrun := change(long, object{"body": append([]object{{"hash": double}}, body(t, searcher.send(1))...)})
			err := t.Eventually(t.Target.Budgets.Hint(), func() error { // it can be followed after its simulation
				if answer = call(t, key(t), method, backrun); answer.Refused() {
					return errRefused
				}
				return nil
			})
			if err == nil {
				break
			}
		}
		checkNoted(t, answer)
	})
	s.It("RPC-SHR-25", "refuses 51 transactions", func(t *suite.T) {
		checkRightCall(t, "mev_sendBundle")
		w := newWallet(t)
		var txs []*types.Transaction
		for range 51 {
			txs = append(txs, w.send(1))
		}
		checkRefused(t, call(t, key(t), method, share(t, txs...)))
	})
	s.It("RPC-SHR-25", "refuses 51 transactions, those of an inner bundle with them", func(t *suite.T) {
		w := newWallet(t)
		var txs []*types.Transaction
		for range 51 {
			txs = append(txs, w.send(1))
		}
		around := func(outer []*types.Transaction) object {
			inside := object{"bundle": share(t, txs[:25]...)}
			return change(share(t), object{"body": append([]object{inside}, body(t, outer...)...)})
		}
		checkRefused(t, call(t, key(t), method, around(txs[25:])))
		if answer := call(t, key(t), method, around(txs[25:50])); answer.Refused() {
			t.Inconclusive("50 transactions are refused too: %s", answer)
		}
	})
}

// describeShareTerms adds specs about for which blocks orders of mev_sendBundle are offered, and to
// whom.
func describeShareTerms(s *suite.Set) {
	s.Slow("RPC-SHR-32", "is offered up to maxBlock and no longer", func(t *suite.T) {
		requireBuilders(t)
		checkOfferedUpTo(t, func() (tx *types.Transaction, from, to uint64) {
			tx, at := newWallet(t).send(1), head(t)
			checkNoted(t, call(t, key(t), "mev_sendBundle", change(share(t, tx),
				object{"inclusion": object{"block": hexNumber(at + 2), "maxBlock": hexNumber(at + 6)}})))
			return tx, at + 2, at + 6
		})
	})
	s.Slow("RPC-SHR-32", "is offered for its block only without maxBlock", func(t *suite.T) {
		requireBuilders(t)
		tx, at := newWallet(t).send(1), head(t)
		checkNoted(t, call(t, key(t), "mev_sendBundle",
			change(share(t, tx), object{"inclusion": object{"block": hexNumber(at + 3)}})))
		checkOfferedFor(t, tx, at+3, at+3)
	})
	s.Slow("RPC-SHR-31", "goes to the second of two builders that are named", func(t *suite.T) {
		checkGoesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			params := change(makeSoonParams(t, 4), object{"body": body(t, tx),
				"privacy": object{"builders": world.BuilderNames[:2]}})
			checkNoted(t, call(t, key(t), "mev_sendBundle", params))
		})
	})
	s.Slow("RPC-SHR-31", "goes to the builder that is named, and not to the other one", func(t *suite.T) {
		checkGoesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			params := change(makeSoonParams(t, 4), object{"body": body(t, tx),
				"privacy": object{"builders": []string{world.BuilderNames[1]}}})
			checkNoted(t, call(t, key(t), "mev_sendBundle", params))
		})
	})
}

// describeWholeShares adds specs about orders of mev_sendBundle: in the chain whole and in
// order, or not at all.
func describeWholeShares(s *suite.Set) {
	s.Slow("RPC-SHR-33", "is in its block whole and in order, with the bundle inside of it", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			// from four wallets, so that each transaction would be valid alone
			txs := []*types.Transaction{newWallet(t).send(4), newWallet(t).send(1), newWallet(t).send(3), newWallet(t).send(2)}
			block := head(t) + 3
			window := object{"block": hexNumber(block)}
			inner := change(share(t, txs[1], txs[2]), object{"inclusion": window})
			list := append(body(t, txs[0]), object{"bundle": inner})
			checkNoted(t, call(t, key(t), "mev_sendBundle",
				change(share(t), object{"inclusion": window, "body": append(list, body(t, txs[3])...)})))
			include(t, txs...)
			waitForBlock(t, block)
			return checkWholeAt(t, block, txs) > 0
		})
	})
	s.Slow("RPC-SHR-34", "is in its block with a transaction that reverts and may", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			txs := []*types.Transaction{newWallet(t).send(1), newWallet(t).create(0, codeRevert)}
			block := head(t) + 3
			checkNoted(t, call(t, key(t), "mev_sendBundle", makeReverting(t, block, true, txs)))
			witness := newWallet(t).send(2)
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
	s.Slow("RPC-SHR-34", "is in its block with a transaction of an inner bundle that reverts and may", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			txs := []*types.Transaction{newWallet(t).send(1), newWallet(t).send(3), newWallet(t).create(0, codeRevert)}
			block := head(t) + 3
			window := object{"inclusion": object{"block": hexNumber(block)}}
			inner := makeReverting(t, block, true, txs[1:])
			list := append(body(t, txs[0]), object{"bundle": inner})
			checkNoted(t, call(t, key(t), "mev_sendBundle", change(share(t), change(window, object{"body": list}))))
			witness := newWallet(t).send(2)
			sendForBlock(t, block, nil, witness)
			include(t, append(txs, witness)...)
			waitForBlock(t, block)
			if receiptOf(t, witness) == nil {
				return false
			}
			t.Check(receiptOf(t, txs[0]) != nil, "the transaction before the inner bundle in its block", "none")
			checkLandedReverted(t, txs[1:])
			return true
		})
	})
	s.Slow("RPC-SHR-34", "is not there with a transaction that reverts and may not", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			txs, witness := []*types.Transaction{newWallet(t).send(1), newWallet(t).create(0, codeRevert)}, newWallet(t).send(2)
			block := head(t) + 3
			// a service may refuse what fails in its simulation
			call(t, key(t), "mev_sendBundle", makeReverting(t, block, false, txs))
			sendForBlock(t, block, nil, witness)
			include(t, append(txs, witness)...)
			waitForBlock(t, block)
			checkKeptOut(t, txs)
			return receiptOf(t, witness) != nil
		})
	})
}

// makeReverting is a bundle for one block whose second transaction may revert, or may not.
func makeReverting(t *suite.T, block uint64, may bool, txs []*types.Transaction) object {
	params := change(share(t, txs...), object{"inclusion": object{"block": hexNumber(block)}})
	params["body"].([]object)[1]["canRevert"] = may
	return params
}
