package rpc

import (
	"crypto/ecdsa"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// describeCancelBundle adds specs about eth_cancelBundle.
func describeCancelBundle(s *suite.Set) {
	const method = "eth_cancelBundle"
	// quiet fails the spec unless the call succeeds with one of the results that deployed servers
	// give.
	quiet := func(t *suite.T, answer *probe.RPCAnswer) {
		t.Check(answer.Status == 200 && !answer.Refused(), "success", answer)
		switch text := string(answer.Members["result"]); {
		case text == "null" || text == "" && answer.Members != nil:
		case text == "true" || text == "200" || strings.HasPrefix(text, "["):
			t.Lenient("result %s in place of null", text)
		default:
			t.Check(false, "null, true, 200 or a list", text)
		}
	}
	s.It("RPC-CAN-01", "cancels a bundle that has a name", func(t *suite.T) {
		signer, name, tx := key(t), uuid(t), newWallet(t).send(1)
		checkTaken(t, call(t, signer, "eth_sendBundle", change(bundle(t, tx), object{"replacementUuid": name})), tx)
		answer := call(t, signer, method, object{"replacementUuid": name})
		t.Check(!answer.Refused(), "success", answer)
	})
	s.It("RPC-CAN-02", "refuses a cancel without a name", func(t *suite.T) {
		checkRightCall(t, "eth_cancelBundle")
		checkRefused(t, call(t, key(t), method, object{}))
		checkRefused(t, call(t, key(t), method, object{"replacementUuid": nil}))
		checkRefused(t, call(t, key(t), method, object{"replacementUuid": ""}))
	})
	s.It("RPC-CAN-03", "refuses a name that is no UUID", func(t *suite.T) {
		checkRightCall(t, "eth_cancelBundle")
		checkRefused(t, call(t, key(t), method, object{"replacementUuid": "my-bundle"}))
		checkRefused(t, call(t, key(t), method, object{"replacementUuid": "{" + uuid(t) + "}"}))
		checkRefused(t, call(t, key(t), method, object{"replacementUuid": "urn:uuid:" + uuid(t)}))
		checkRefused(t, call(t, key(t), method, object{"replacementUuid": 7}))
	})
	s.It("RPC-CAN-04", "answers one of the known results", func(t *suite.T) {
		signer, name, tx := key(t), uuid(t), newWallet(t).send(1)
		checkTaken(t, call(t, signer, "eth_sendBundle", change(bundle(t, tx), object{"replacementUuid": name})), tx)
		quiet(t, call(t, signer, method, object{"replacementUuid": name}))
	})
	s.It("RPC-CAN-05", "takes a name that nobody used", func(t *suite.T) {
		waitBegun(t)
		quiet(t, call(t, key(t), method, object{"replacementUuid": uuid(t)}))
		if answer := call(t, key(t), method, object{"replacementUuid": 7}); !answer.Refused() {
			t.Inconclusive("a number is no name, and is taken for one: %s", answer)
		}
	})
}

// cancelAt sends a bundle, behind earlier versions of it if there are some, waits until a builder
// has it, cancels it by a key, and then has a block built. The receipt is nil if the bundle is not
// in the chain. A witness, which is not cancelled, is for the same block. If the witness is not
// included, the world's builder did not make the block, and ok is false.
func cancelAt(t *suite.T, by func(signer *ecdsa.PrivateKey) *ecdsa.PrivateKey,
	earlier ...*types.Transaction) (r *receipt, ok bool) {
	signer, name, tx, witness := key(t), uuid(t), newWallet(t).send(1), newWallet(t).send(2)
	block := head(t) + 3
	for _, version := range append(earlier, tx) {
		params := object{"txs": encodeTxs(t, version), "blockNumber": hexNumber(block), "replacementUuid": name}
		checkTaken(t, call(t, signer, "eth_sendBundle", params), version)
	}
	sendForBlock(t, block, nil, witness)
	waitBuilderHas(t, tx)
	if answer := call(t, by(signer), "eth_cancelBundle", object{"replacementUuid": name}); answer.Refused() {
		t.Inconclusive("the cancel is refused: %s", answer)
	}
	// The cancel takes a moment to reach the builder. The spec asks for the block only afterwards,
	// so that the block's bid is later than the cancel.
	_ = t.Eventually(slots(t, 1)/4, func() error {
		if list := listSent(t, tx); len(list) > 0 && isHeld(list) {
			return errHeld
		}
		return nil
	})
	include(t, tx, witness)
	waitForBlock(t, block)
	return receiptOf(t, tx), receiptOf(t, witness) != nil
}

// isHeld says whether a builder may still include one of the orders that it received.
func isHeld(list []world.Sent) bool { return len(holders(list)) > 0 }

// holders returns the builders that may still include one of the orders, each once.
func holders(list []world.Sent) (names []string) {
	for _, s := range list {
		if !s.Cancelled && !slices.Contains(names, s.Builder) {
			names = append(names, s.Builder)
		}
	}
	return names
}

// describeCancelledBundles adds specs about cancelled bundles, which do not appear in the chain.
func describeCancelledBundles(s *suite.Set) {
	s.It("RPC-CAN-06", "keeps a cancelled bundle out of later blocks", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			r, ok := cancelAt(t, func(signer *ecdsa.PrivateKey) *ecdsa.PrivateKey { return signer })
			t.Check(r == nil, "no block with the cancelled bundle", r)
			return ok
		})
	})
	s.It("RPC-CAN-06", "keeps a cancelled bundle out that had replaced another", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			r, ok := cancelAt(t, func(signer *ecdsa.PrivateKey) *ecdsa.PrivateKey { return signer }, newWallet(t).send(7))
			t.Check(r == nil, "no block with the cancelled bundle", r)
			return ok
		})
	})
	s.It("RPC-CAN-06", "takes a cancelled bundle back from each builder that has it", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			signer, name, tx := key(t), uuid(t), newWallet(t).send(1)
			block := head(t) + 3
			checkTaken(t, call(t, signer, "eth_sendBundle", object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(block),
				"replacementUuid": name, "builders": world.BuilderNames}), tx)
			t.Ready(t.Eventually(slots(t, 6), func() error {
				if len(holders(listSent(t, tx))) < 2 {
					return errNotSent
				}
				return nil
			}), "wait for the bundle at two of the world's builders")
			if answer := call(t, signer, "eth_cancelBundle", object{"replacementUuid": name}); answer.Refused() {
				t.Inconclusive("the cancel is refused: %s", answer)
			}
			var still []string
			err := t.Eventually(slots(t, 1)/4, func() error {
				if still = holders(listSent(t, tx)); len(still) > 0 {
					return errHeld
				}
				return nil
			})
			if err != nil && head(t) >= block { // the cancel came too late
				return false
			}
			t.Check(err == nil, "no builder that may still include the bundle", still)
			return true
		})
	})
	s.It("RPC-CAN-07", "leaves the bundle to its own signer", func(t *suite.T) {
		requireBuilders(t)
		repeatUntilBuilt(t, func() bool {
			r, ok := cancelAt(t, func(*ecdsa.PrivateKey) *ecdsa.PrivateKey { return key(t) })
			t.Check(r != nil || !ok, "the bundle in its block, since another signer's cancel is not about it", "no such bundle")
			return ok
		})
	})
}

// errHeld means that a builder still has the order.
const errHeld = errText("a builder has it")
