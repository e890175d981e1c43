package rpc

import (
	"crypto/ecdsa"
	"encoding/json"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// asked returns the result of a method about refunds. The spec is unsupported if the service does
// not know the method.
func asked(t *suite.T, method string, params ...any) map[string]json.RawMessage {
	answer := call(t, key(t), method, params...)
	if answer.Code() == -32601 {
		t.Unsupported("%s is not known", method)
	}
	var members map[string]json.RawMessage
	result(t, answer, &members)
	return members
}

// listing fails the spec unless refunds is an empty list. It must be empty because the recipient is
// new.
func listing(t *suite.T, members map[string]json.RawMessage) {
	var list []json.RawMessage
	err := json.Unmarshal(members["refunds"], &list)
	t.Check(err == nil && list != nil, "refunds as a list", string(members["refunds"]))
	t.Check(len(list) == 0, "no refunds of a stranger", string(members["refunds"]))
}

func stranger(t *suite.T) string { return crypto.PubkeyToAddress(key(t).PublicKey).Hex() }

// zeros fails the spec unless the members are zero in hexadecimal.
func zeros(t *suite.T, members map[string]json.RawMessage, names ...string) {
	for _, name := range names {
		t.Check(isHex(t, members, name).Sign() == 0, name+" of 0x0", string(members[name]))
	}
}

// refunds: the methods about fee refunds.
func refunds(s *suite.Set) {
	s.It("RPC-RFT-01", "answers totals in hex", func(t *suite.T) {
		members := asked(t, "flashbots_getFeeRefundTotalsByRecipient", stranger(t))
		for _, name := range []string{"pending", "received", "maxBlockNumber"} {
			isHex(t, members, name)
		}
	})
	s.It("RPC-RFT-02", "answers zero to a stranger", func(t *suite.T) {
		zeros(t, asked(t, "flashbots_getFeeRefundTotalsByRecipient", stranger(t)), "pending", "received")
	})
	s.It("RPC-RFT-03", "refuses what is no address", func(t *suite.T) {
		right(t, totalsOf)
		refused(t, call(t, key(t), "flashbots_getFeeRefundTotalsByRecipient", "0x1234"))
		refused(t, call(t, key(t), "flashbots_getFeeRefundTotalsByRecipient"))
	})
	for _, method := range []string{"flashbots_getMevRefundTotalByRecipient", "flashbots_getMevRefundTotalBySender"} {
		s.It("RPC-RFM-01", "answers "+method, func(t *suite.T) {
			zeros(t, asked(t, method, stranger(t)), "total", "pending")
		})
		s.It("RPC-RFM-02", "refuses what is no address in "+method, func(t *suite.T) {
			asked(t, method, stranger(t))
			refused(t, call(t, key(t), method, "0x1234"))
		})
	}
	s.It("RPC-RFR-01", "answers a list", func(t *suite.T) {
		listing(t, asked(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": stranger(t)}))
	})
	s.It("RPC-RFR-02", "has no cursor at the end", func(t *suite.T) {
		_, has := asked(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": stranger(t)})["cursor"]
		t.Check(!has, "no cursor", "one")
	})
	s.It("RPC-RFR-03", "takes an empty cursor in both places", func(t *suite.T) {
		listing(t, asked(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": stranger(t), "cursor": nil}))
		listing(t, asked(t, "flashbots_getFeeRefundsByRecipient", object{"recipient": stranger(t)}, nil))
	})
	s.It("RPC-RFR-04", "refuses a cursor that it never gave", func(t *suite.T) {
		right(t, byRecipient)
		refused(t, call(t, key(t), "flashbots_getFeeRefundsByRecipient",
			object{"recipient": stranger(t), "cursor": "never given"}))
	})
	s.It("RPC-RFR-07", "refuses what is no address", func(t *suite.T) {
		right(t, byRecipient)
		refused(t, call(t, key(t), "flashbots_getFeeRefundsByRecipient", object{"recipient": "0x1234"}))
		refused(t, call(t, key(t), "flashbots_getFeeRefundsByRecipient", object{}))
	})
	s.It("RPC-RFB-01", "answers a list", func(t *suite.T) {
		listing(t, asked(t, "flashbots_getFeeRefundsByBundle", object{"bundle_hash": common.Hash{3}.Hex()}))
	})
	s.It("RPC-RFB-02", "needs bundle_hash", func(t *suite.T) {
		refused(t, call(t, key(t), "flashbots_getFeeRefundsByBundle", object{"bundleHash": common.Hash{3}.Hex()}))
		listing(t, asked(t, "flashbots_getFeeRefundsByBundle", object{"bundle_hash": common.Hash{3}.Hex()}))
	})
	s.It("RPC-RFB-03", "takes the bare hash", func(t *suite.T) {
		answer := call(t, key(t), "flashbots_getFeeRefundsByBundle", common.Hash{3}.Hex())
		if answer.Refused() {
			t.Unsupported("a bare hash is refused")
		}
		var members map[string]json.RawMessage
		result(t, answer, &members)
		listing(t, members)
	})
	s.It("RPC-RFK-01", "answers a list", func(t *suite.T) {
		listing(t, asked(t, "flashbots_getFeeRefundsByBlock", object{"block_number": "0x1"}))
	})
	s.It("RPC-RFK-02", "needs block_number", func(t *suite.T) {
		right(t, byBlock)
		refused(t, call(t, key(t), "flashbots_getFeeRefundsByBlock", object{"blockNumber": "0x1"}))
		refused(t, call(t, key(t), "flashbots_getFeeRefundsByBlock", object{"block_number": "one"}))
	})
}

// setRecipient: flashbots_setFeeRefundRecipient.
func setRecipient(s *suite.Set) {
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
		result(t, answer, &both)
		t.Check(both.From == strings.ToLower(from) && both.To == strings.ToLower(sink.Hex()),
			"from and to in lower case", both)
	}
	own := func(signer *ecdsa.PrivateKey) string { return crypto.PubkeyToAddress(signer.PublicKey).Hex() }
	s.It("RPC-SET-01", "answers from and to", func(t *suite.T) {
		signer := key(t)
		set(t, signer, own(signer))
	})
	s.It("RPC-SET-02", "refuses another key", func(t *suite.T) {
		right(t, "flashbots_setFeeRefundRecipient")
		answer := call(t, key(t), method, stranger(t), sink.Hex())
		if answer.Code() == -32601 {
			t.Unsupported("%s is not known", method)
		}
		refused(t, answer)
	})
	s.It("RPC-SET-03", "takes the first address in lower case", func(t *suite.T) {
		signer := key(t)
		set(t, signer, strings.ToLower(own(signer)))
	})
	s.It("RPC-SET-04", "refuses a second address that is none", func(t *suite.T) {
		right(t, "flashbots_setFeeRefundRecipient")
		signer := key(t)
		refused(t, call(t, signer, method, own(signer), "0x1234"))
		refused(t, call(t, signer, method, own(signer)))
	})
}

// delayedRefunds: the methods about delayed refunds.
func delayedRefunds(s *suite.Set) {
	const (
		rows   = "buildernet_getDelayedRefunds"
		totals = "buildernet_getDelayedRefundTotalsByRecipient"
	)
	span := func(t *suite.T, from, to any) object {
		return with(object{"recipient": stranger(t)}, object{"blockRangeFrom": from, "blockRangeTo": to})
	}
	s.It("RPC-DLY-01", "answers a list and how far it goes", func(t *suite.T) {
		members := asked(t, rows, object{"recipient": stranger(t)})
		listing(t, members)
		isHex(t, members, "indexedUpTo")
	})
	for _, row := range []struct {
		title    string
		from, to any
	}{{"no range", nil, nil}, {"no end", "0x1", nil}, {"no beginning", nil, "0x1"}} {
		s.It("RPC-DLY-02", "refuses a hash with "+row.title, func(t *suite.T) {
			right(t, delayedList)
			refused(t, call(t, key(t), rows, with(span(t, row.from, row.to), object{"hash": common.Hash{3}.Hex()})))
		})
	}
	s.It("RPC-DLY-03", "takes a hash with a range", func(t *suite.T) {
		listing(t, asked(t, rows, with(span(t, "0x1", "0x2"), object{"hash": common.Hash{3}.Hex()})))
	})
	s.It("RPC-DLY-04", "refuses a range that ends before it begins", func(t *suite.T) {
		right(t, delayedList)
		refused(t, call(t, key(t), rows, span(t, "0x5", "0x4")))
	})
	s.It("RPC-DLY-05", "has no nextCursor at the end", func(t *suite.T) {
		_, has := asked(t, rows, object{"recipient": stranger(t)})["nextCursor"]
		t.Check(!has, "no nextCursor", "one")
	})
	s.It("RPC-DLY-06", "takes a range of one block", func(t *suite.T) {
		listing(t, asked(t, rows, span(t, "0x1", "0x1")))
	})
	s.It("RPC-DLT-01", "answers totals in hex", func(t *suite.T) {
		members := asked(t, totals, object{"recipient": stranger(t)})
		zeros(t, members, "pending", "received")
		isHex(t, members, "indexedUpTo")
	})
	s.It("RPC-DLT-02", "needs no range", func(t *suite.T) {
		zeros(t, asked(t, totals, object{"recipient": stranger(t)}), "pending")
	})
	s.It("RPC-DLT-03", "takes a range of one block", func(t *suite.T) {
		zeros(t, asked(t, totals, span(t, "0x1", "0x1")), "pending")
	})
}
