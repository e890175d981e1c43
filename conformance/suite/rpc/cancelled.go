package rpc

import (
	"crypto/ecdsa"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// cancelAt sends a bundle, waits until a builder has it, cancels it by a key, and then has a block
// built. The receipt is nil if the bundle is not in the chain. A witness, which is not cancelled,
// is for the same block. If the witness is not included, the world's builder did not make the
// block, and ok is false.
func cancelAt(t *suite.T, by func(signer *ecdsa.PrivateKey) *ecdsa.PrivateKey) (r *receipt, ok bool) {
	signer, name, tx, witness := key(t), uuid(t), money(t).send(1), money(t).send(2)
	block := head(t) + 3
	params := object{"txs": raws(t, tx), "blockNumber": hexNumber(block), "replacementUuid": name}
	taken(t, call(t, signer, "eth_sendBundle", params), tx)
	placed(t, block, nil, witness)
	builderHas(t, tx)
	if answer := call(t, by(signer), "eth_cancelBundle", object{"replacementUuid": name}); answer.Refused() {
		t.Inconclusive("the cancel is refused: %s", answer)
	}
	// The cancel takes a moment to reach the builder. The spec asks for the block only afterwards,
	// so that the block's bid is later than the cancel.
	_ = t.Eventually(slots(t, 1)/4, func() error {
		if list := sentTo(t, tx); len(list) > 0 && held(list) {
			return errHeld
		}
		return nil
	})
	include(t, tx, witness)
	reached(t, block)
	return receiptOf(t, tx), receiptOf(t, witness) != nil
}

// held says whether a builder may still include one of the orders that it received.
func held(list []world.Sent) bool {
	for _, s := range list {
		if !s.Cancelled {
			return true
		}
	}
	return false
}

// cancelled: cancelled bundles do not appear in the chain.
func cancelled(s *suite.Set) {
	s.It("RPC-CAN-06", "keeps a cancelled bundle out of later blocks", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			r, ok := cancelAt(t, func(signer *ecdsa.PrivateKey) *ecdsa.PrivateKey { return signer })
			t.Check(r == nil, "no block with the cancelled bundle", r)
			return ok
		})
	})
	s.It("RPC-CAN-07", "leaves the bundle to its own signer", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			r, ok := cancelAt(t, func(*ecdsa.PrivateKey) *ecdsa.PrivateKey { return key(t) })
			t.Check(r != nil || !ok, "the bundle in its block, since another signer's cancel is not about it", "no such bundle")
			return ok
		})
	})
}

// errHeld means that a builder still has the order.
const errHeld = errText("a builder has it")
