package rpc

import (
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// The specs of this file look at what becomes of an order at the world's builders and on the chain,
// and not at the answer: a server may take every member of an order and forget it. They wait for
// several blocks, so they run beside the other specs, and their orders share no hints.

// terms: what the members of eth_sendBundle do.
func terms(s *suite.Set) {
	s.Slow("RPC-BUN-21", "has the second version in its block, and not the first", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			signer, name := key(t), object{"replacementUuid": uuid(t)}
			first, second, witness := money(t).send(1), money(t).send(2), money(t).send(3)
			block := head(t) + 3
			placed(t, block, nil, witness)
			include(t, second, witness)
			version := func(tx *types.Transaction) {
				params := with(object{"txs": raws(t, tx), "blockNumber": hexNumber(block)}, name)
				taken(t, call(t, signer, "eth_sendBundle", params), tx)
			}
			version(first)
			builderHas(t, first)
			version(second)
			_ = t.Eventually(slots(t, 1)/4, func() error { // a bid before that may have the first version
				if len(sentTo(t, second)) == 0 {
					return errNotSent
				}
				return nil
			})
			include(t, first)
			reached(t, block)
			t.Check(receiptOf(t, first) == nil, "no block with the version that was replaced", "it is in a block")
			if receiptOf(t, witness) == nil {
				return false
			}
			t.Check(receiptOf(t, second) != nil, "the version that replaced it in its block", "no such bundle")
			return true
		})
	})
	s.Slow("RPC-BUN-17", "does not replace a bundle with the nil UUID", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			signer, none := key(t), object{"replacementUuid": "00000000-0000-0000-0000-000000000000"}
			txs := []*types.Transaction{money(t).send(1), money(t).send(2)}
			block := head(t) + 3
			for _, tx := range txs {
				params := with(object{"txs": raws(t, tx), "blockNumber": hexNumber(block)}, none)
				taken(t, call(t, signer, "eth_sendBundle", params), tx)
			}
			include(t, txs...)
			reached(t, block)
			one, other := receiptOf(t, txs[0]), receiptOf(t, txs[1])
			t.Check((one == nil) == (other == nil), "both bundles in their block", "one of them")
			return one != nil
		})
	})
	s.Slow("RPC-BUN-22", "is in no block outside of its time", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			early, late, fits := money(t).send(1), money(t).send(2), money(t).send(3)
			block, now := head(t)+3, t.Now().Unix()
			placed(t, block, object{"minTimestamp": now + 3600}, early)
			// the block is two slots away at least; a service may refuse what is over by then
			call(t, key(t), "eth_sendBundle",
				object{"txs": raws(t, late), "blockNumber": hexNumber(block), "maxTimestamp": now})
			placed(t, block, object{"minTimestamp": now - 60, "maxTimestamp": now + 3600}, fits)
			include(t, early, late, fits)
			reached(t, block)
			t.Check(receiptOf(t, early) == nil, "no block with a bundle before its minTimestamp", "it is in a block")
			t.Check(receiptOf(t, late) == nil, "no block with a bundle after its maxTimestamp", "it is in a block")
			return receiptOf(t, fits) != nil
		})
	})
	s.Slow("RPC-BUN-23", "is in its block with a transaction that reverts and may", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			txs, witness := []*types.Transaction{money(t).send(1), money(t).create(0, codeRevert)}, money(t).send(2)
			block := head(t) + 3
			placed(t, block, object{"revertingTxHashes": []string{txs[1].Hash().Hex()}}, txs...)
			placed(t, block, nil, witness)
			include(t, append(txs, witness)...)
			reached(t, block)
			if receiptOf(t, witness) == nil {
				return false
			}
			for i, tx := range txs {
				r := receiptOf(t, tx)
				t.Check(r != nil, fmt.Sprintf("transaction %d of a bundle whose second one may revert in its block", i), "none")
				t.Check(uint64(r.Status) == uint64(1-i), "the second one reverted, and not the first", r)
			}
			return true
		})
	})
	s.Slow("RPC-BUN-24", "goes to the builder that is named, and not to the other one", func(t *suite.T) {
		goesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			placed(t, head(t)+3, object{"builders": []string{world.BuilderNames[1]}}, tx)
		})
	})
}

// window: for which blocks orders are offered, and to whom.
func window(s *suite.Set) {
	// within fails the spec unless an order is offered for the last of its blocks, and for none
	// outside.
	within := func(t *suite.T, tx *types.Transaction, from, to uint64) {
		reached(t, to+3)
		count, first, last := offered(t, tx)
		t.Check(count > 0 && first >= from && last <= to, fmt.Sprintf("offers for blocks %d to %d", from, to),
			fmt.Sprintf("%d offers, for %d to %d", count, first, last))
		t.Check(last+1 >= to, fmt.Sprintf("offers up to block %d", to), last) // one block may come too fast
	}
	s.Slow("RPC-SHR-32", "is offered up to maxBlock and no longer", func(t *suite.T) {
		watched(t)
		tx, at := money(t).send(1), head(t)
		noted(t, call(t, key(t), "mev_sendBundle", with(share(t, tx),
			object{"inclusion": object{"block": hexNumber(at + 2), "maxBlock": hexNumber(at + 5)}})))
		within(t, tx, at+2, at+5)
	})
	s.Slow("RPC-SHR-32", "is offered for its block only without maxBlock", func(t *suite.T) {
		watched(t)
		tx, at := money(t).send(1), head(t)
		noted(t, call(t, key(t), "mev_sendBundle",
			with(share(t, tx), object{"inclusion": object{"block": hexNumber(at + 3)}})))
		within(t, tx, at+3, at+3)
	})
	s.Slow("RPC-PRI-21", "is offered up to maxBlockNumber and no longer", func(t *suite.T) {
		watched(t)
		tx, at := money(t).send(1), head(t)
		sent(t, call(t, key(t), "eth_sendPrivateTransaction",
			object{"tx": raw(t, tx), "maxBlockNumber": hexNumber(at + 4), "preferences": quiet}), tx)
		within(t, tx, at, at+4) // the target's newest block may be the one before
	})
	s.Slow("RPC-SHR-31", "goes to the builder that is named, and not to the other one", func(t *suite.T) {
		goesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			params := with(soon(t, 4), object{"body": body(t, tx),
				"privacy": object{"builders": []string{world.BuilderNames[1]}}})
			noted(t, call(t, key(t), "mev_sendBundle", params))
		})
	})
	s.Slow("RPC-PRI-20", "goes to the operator's builder and to no other", func(t *suite.T) {
		goesTo(t, world.BuilderNames[0], func(tx *types.Transaction) {
			sent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": raw(t, tx), "preferences": object{
				"fast": false, "privacy": object{"hints": []string{}, "builders": []string{world.BuilderNames[0]}},
			}}), tx)
		})
	})
	s.Slow("RPC-CPR-06", "is not offered after its cancel", func(t *suite.T) {
		watched(t)
		signer, tx := key(t), money(t).send(1)
		sent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": raw(t, tx), "preferences": quiet}), tx)
		builderHas(t, tx)
		var gone bool
		result(t, call(t, signer, "eth_cancelPrivateTransaction", object{"txHash": tx.Hash().Hex()}), &gone)
		t.Check(gone, "true", gone)
		at := head(t)
		reached(t, at+5)
		for _, s := range sentTo(t, tx) {
			t.Check(s.Head <= at+1, fmt.Sprintf("no offer after block %d, when it was cancelled", at+1), s)
		}
		include(t, tx)
		reached(t, at+7)
		t.Check(receiptOf(t, tx) == nil, "no block with it", "it is in a block")
	})
}

// goesTo sends an order, and fails the spec unless the named builder is sent it, and no other but
// the operator's own.
func goesTo(t *suite.T, name string, send func(tx *types.Transaction)) {
	watched(t)
	tx := money(t).send(1)
	at := head(t)
	send(tx)
	var names []string
	err := t.Eventually(slots(t, 6), func() error {
		names = nil
		for _, s := range sentTo(t, tx) {
			names = append(names, s.Builder)
		}
		if !slices.Contains(names, name) {
			return errNotSent
		}
		return nil
	})
	t.Check(err == nil, "the order at the builder "+name, fmt.Sprintf("at %v", names))
	reached(t, max(at+3, head(t)+1)) // so that it could have gone to the others
	for _, s := range sentTo(t, tx) {
		t.Check(s.Builder == name || s.Builder == world.BuilderNames[0], "no other builder to be sent it than "+name,
			s.Builder)
	}
}
