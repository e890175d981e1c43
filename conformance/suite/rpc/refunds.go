package rpc

import (
	"crypto/ecdsa"
	"encoding/json"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// askRefunds returns the result of a method about refunds. The spec is unsupported if the service
// does not know the method.
func askRefunds(t *suite.T, method string, params ...any) map[string]json.RawMessage {
	answer := call(t, key(t), method, params...)
	if answer.Code() == -32601 {
		t.Unsupported("%s is not known", method)
	}
	var members map[string]json.RawMessage
	readResult(t, answer, &members)
	return members
}

// checkEmptyList fails the spec unless refunds is an empty list. It must be empty because the
// recipient is new.
func checkEmptyList(t *suite.T, members map[string]json.RawMessage) {
	var list []json.RawMessage
	err := json.Unmarshal(members["refunds"], &list)
	t.Check(err == nil && list != nil, "refunds as a list", string(members["refunds"]))
	t.Check(len(list) == 0, "no refunds of a stranger", string(members["refunds"]))
}

func strangerAddress(t *suite.T) string { return crypto.PubkeyToAddress(key(t).PublicKey).Hex() }

// checkZeros fails the spec unless the members are zero in hexadecimal.
func checkZeros(t *suite.T, members map[string]json.RawMessage, names ...string) {
	for _, name := range names {
		t.Check(readQuantity(t, members, name).Sign() == 0, name+" of 0x0", string(members[name]))
	}
}

// describeRefunds adds specs about the methods about fee refunds.
func describeRefunds(s *suite.Set) {
	s.It("RPC-RFT-01", "answers totals in hex", func(t *suite.T) {
		members := askRefunds(t, "flashbots_getFeeRefundTotalsByRecipient", strangerAddress(t))
		for _, name := range []string{"pending", "received", "maxBlockNumber"} {
			readQuantity(t, members, name)
		}
	})
	s.It("RPC-RFT-02", "answers zero to a stranger", func(t *suite.T) {
		checkZeros(t, askRefunds(t, "flashbots_getFeeRefundTotalsByRecipient", strangerAddress(t)), "pending", "received")
	})
	s.It("RPC-RFT-03", "refuses what is no address", func(t *suite.T) {
		checkRightCall(t, totalsOf)
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundTotalsByRecipient", "0x1234"))
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundTotalsByRecipient"))
	})
	for _, method := range []string{"flashbots_getMevRefundTotalByRecipient", "flashbots_getMevRefundTotalBySender"} {
		s.It("RPC-RFM-01", "answers "+method, func(t *suite.T) {
			checkZeros(t, askRefunds(t, method, strangerAddress(t)), "total", "pending")
		})
		s.It("RPC-RFM-02", "refuses what is no address in "+method, func(t *suite.T) {
			askRefunds(t, method, strangerAddress(t))
			checkRefused(t, call(t, key(t), method, "0x1234"))
		})
	}
	s.It("RPC-RFR-01", "answers a list", func(t *suite.T) {
		checkEmptyList(t, askRefunds(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": strangerAddress(t)}))
	})
	s.It("RPC-RFR-02", "has no cursor at the end", func(t *suite.T) {
		_, has := askRefunds(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": strangerAddress(t)})["cursor"]
		t.Check(!has, "no cursor", "one")
	})
	s.It("RPC-RFR-03", "takes an empty cursor in both places", func(t *suite.T) {
		checkEmptyList(t, askRefunds(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": strangerAddress(t),
			"cursor": nil}))
		checkEmptyList(t, askRefunds(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": strangerAddress(t)}, nil))
	})
	s.It("RPC-RFR-04", "refuses a cursor that it never gave", func(t *suite.T) {
		checkRightCall(t, byRecipient)
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundsByRecipient",
			object{"recipient": strangerAddress(t), "cursor": "never given"}))
	})
	s.It("RPC-RFR-07", "refuses what is no address", func(t *suite.T) {
		checkRightCall(t, byRecipient)
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundsByRecipient", object{"recipient": "0x1234"}))
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundsByRecipient", object{}))
	})
	s.It("RPC-RFB-01", "answers a list", func(t *suite.T) {
		checkEmptyList(t, askRefunds(t, "flashbots_getFeeRefundsByBundle", object{"bundle_hash": common.Hash{3}.Hex()}))
	})
	s.It("RPC-RFB-02", "needs bundle_hash", func(t *suite.T) {
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundsByBundle", object{"bundleHash": common.Hash{3}.Hex()}))
		checkEmptyList(t, askRefunds(t, "flashbots_getFeeRefundsByBundle", object{"bundle_hash": common.Hash{3}.Hex()}))
	})
	s.It("RPC-RFB-03", "takes the bare hash", func(t *suite.T) {
		answer := call(t, key(t), "flashbots_getFeeRefundsByBundle", common.Hash{3}.Hex())
		if answer.Refused() {
			t.Unsupported("a bare hash is refused")
		}
		var members map[string]json.RawMessage
		readResult(t, answer, &members)
		checkEmptyList(t, members)
	})
	s.It("RPC-RFK-01", "answers a list", func(t *suite.T) {
		checkEmptyList(t, askRefunds(t, "flashbots_getFeeRefundsByBlock", object{"block_number": "0x1"}))
	})
	s.It("RPC-RFK-02", "needs block_number", func(t *suite.T) {
		checkRightCall(t, byBlock)
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundsByBlock", object{"blockNumber": "0x1"}))
		checkRefused(t, call(t, key(t), "flashbots_getFeeRefundsByBlock", object{"block_number": "one"}))
	})
}

// describeSetRecipient adds specs about flashbots_setFeeRefundRecipient.
func describeSetRecipient(s *suite.Set) {
	const method = "flashbots_setFeeRefundRecipient"
	// set calls the method, and fails the spec unless the answer has both addresses in lower case.
	set := func(t *suite.T, signer *ecdsa.PrivateKey, from string) {
		answer := call(t, signer, method, from, sink.Hex())
		if answer.Code() == -32601 {
			t.Unsupported("%s is not known", method)
		}
		var both struct {
			From string `json:"from"`
			To   string `json:"to"`
		}
		readResult(t, answer, &both)
		t.Check(both.From == strings.ToLower(from) && both.To == strings.ToLower(sink.Hex()),
			"from and to in lower case", both)
	}
	own := func(signer *ecdsa.PrivateKey) string { return crypto.PubkeyToAddress(signer.PublicKey).Hex() }
	s.It("RPC-SET-01", "answers from and to", func(t *suite.T) {
		signer := key(t)
		set(t, signer, own(signer))
	})
	s.It("RPC-SET-02", "refuses another key", func(t *suite.T) {
		checkRightCall(t, "flashbots_setFeeRefundRecipient")
		answer := call(t, key(t), method, strangerAddress(t), sink.Hex())
		if answer.Code() == -32601 {
			t.Unsupported("%s is not known", method)
		}
		checkRefused(t, answer)
	})
	s.It("RPC-SET-03", "takes the first address in lower case", func(t *suite.T) {
		signer := key(t)
		set(t, signer, strings.ToLower(own(signer)))
	})
	s.It("RPC-SET-04", "refuses a second address that is none", func(t *suite.T) {
		checkRightCall(t, "flashbots_setFeeRefundRecipient")
		signer := key(t)
		checkRefused(t, call(t, signer, method, own(signer), "0x1234"))
		checkRefused(t, call(t, signer, method, own(signer)))
	})
}

// describeDelayedRefunds adds specs about the methods about delayed refunds.
func describeDelayedRefunds(s *suite.Set) {
	const (
		rows   = "buildernet_getDelayedRefunds"
		totals = "buildernet_getDelayedRefundTotalsByRecipient"
	)
	span := func(t *suite.T, from, to any) object {
		return change(object{"recipient": strangerAddress(t)}, object{"blockRangeFrom": from, "blockRangeTo": to})
	}
	s.It("RPC-DLY-01", "answers a list and how far it goes", func(t *suite.T) {
		members := askRefunds(t, rows, object{"recipient": strangerAddress(t)})
		checkEmptyList(t, members)
		readQuantity(t, members, "indexedUpTo")
	})
	for _, row := range []struct {
		title    string
		from, to any
	}{{"no range", nil, nil}, {"no end", "0x1", nil}, {"no beginning", nil, "0x1"}} {
		s.It("RPC-DLY-02", "refuses a hash with "+row.title, func(t *suite.T) {
			checkRightCall(t, delayedList)
			checkRefused(t, call(t, key(t), rows, change(span(t, row.from, row.to), object{"hash": common.Hash{3}.Hex()})))
		})
	}
	s.It("RPC-DLY-03", "takes a hash with a range", func(t *suite.T) {
		checkEmptyList(t, askRefunds(t, rows, change(span(t, "0x1", "0x2"), object{"hash": common.Hash{3}.Hex()})))
	})
	s.It("RPC-DLY-04", "refuses a range that ends before it begins", func(t *suite.T) {
		checkRightCall(t, delayedList)
		checkRefused(t, call(t, key(t), rows, span(t, "0x5", "0x4")))
	})
	s.It("RPC-DLY-05", "has no nextCursor at the end", func(t *suite.T) {
		_, has := askRefunds(t, rows, object{"recipient": strangerAddress(t)})["nextCursor"]
		t.Check(!has, "no nextCursor", "one")
	})
	s.It("RPC-DLY-06", "takes a range of one block", func(t *suite.T) {
		checkEmptyList(t, askRefunds(t, rows, span(t, "0x1", "0x1")))
	})
	s.It("RPC-DLT-01", "answers totals in hex", func(t *suite.T) {
		members := askRefunds(t, totals, object{"recipient": strangerAddress(t)})
		checkZeros(t, members, "pending", "received")
		readQuantity(t, members, "indexedUpTo")
	})
	s.It("RPC-DLT-02", "needs no range", func(t *suite.T) {
		checkZeros(t, askRefunds(t, totals, object{"recipient": strangerAddress(t)}), "pending")
	})
	s.It("RPC-DLT-03", "takes a range of one block", func(t *suite.T) {
		checkZeros(t, askRefunds(t, totals, span(t, "0x1", "0x1")), "pending")
	})
}
