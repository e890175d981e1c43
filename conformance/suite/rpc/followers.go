package rpc

import (
	"encoding/json"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeFollowers adds specs about what the RPC tells searchers who follow another sender's
// order.
func describeFollowers(s *suite.Set) {
	s.It("RPC-STA-01", "tells a follower neither gas nor profit", func(t *suite.T) {
		owner, signer := newWallet(t), key(t)
		target := owner.send(1)
		order := change(makeSoonParams(t, patience), object{"body": body(t, target),
			"privacy": object{"hints": []string{"hash"}}})
		checkHash(t, call(t, key(t), "mev_sendBundle", order), target.Hash())
		b := &backrun{owner: owner, target: target, targetHash: target.Hash(), tx: newWallet(t).create(paysWei, codePayment)}
		var sent struct {
			Hash string `json:"bundleHash"`
		}
		t.Ready(b.followAs(t, signer).Result(&sent), "read the backrun's hash")
		waitForBlock(t, head(t)+2) // so that it was simulated for a block that is now past
		answer := call(t, signer, "gavel_getOrderStatus", sent.Hash)
		if answer.Code() == -32601 {
			t.Unsupported("gavel_getOrderStatus is not known")
		}
		var status map[string]json.RawMessage
		readResult(t, answer, &status)
		if receiptOf(t, target) != nil {
			t.Inconclusive("the order that was followed is on the chain already")
		}
		var simulations []map[string]json.RawMessage
		err := json.Unmarshal(status["simulations"], &simulations)
		t.Check(err == nil, "simulations as a list of objects", string(status["simulations"]))
		for _, one := range simulations {
			checkZeros(t, one, "gasUsed", "profit")
		}
		t.Check(status["paid"] == nil, "nothing of what it would pay", string(status["paid"]))
	})
}
