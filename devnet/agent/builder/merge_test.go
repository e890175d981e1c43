package builder

import (
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// What goes into the block of the orders that a builder has: the most valuable first, each
// transaction once, and of the backruns that compete for a transaction the one that gives back
// most, its refund paid right after it.
func TestMerge(t *testing.T) {
	node := newStage(t).node
	for _, c := range []struct {
		name  string
		setup func(s *stage)
		want  string
	}{
		{"nothing", func(*stage) {}, ""},
		{"a bundle as it is", func(s *stage) { s.send("eth_sendBundle", s.bundle("P Q", nil)) }, "P Q"},
		{"the most valuable first", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("Q", nil))
			s.send("eth_sendBundle", s.bundle("P", nil))
		}, "P Q"},
		{"a transaction is there once", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("Q P", nil))
			s.send("eth_sendBundle", s.bundle("P", nil))
		}, "Q P"},
		{"a private transaction", func(s *stage) { s.send("eth_sendBundle", s.bundle("A", nil)) }, "A"},
		{"a backrun is worth more than its target alone", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A", nil))
			s.send("eth_sendBundle", s.bundle("A B50", object{"refundPercent": 90}))
		}, "A B50 →user0"},
		{"the refund is paid before what comes next", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A B50", object{"refundPercent": 90}))
			s.send("eth_sendBundle", s.bundle("P", nil))
		}, "A B50 →user0 P"},
		{"the best refund wins", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A B50", object{"refundPercent": 90}))
			s.send("eth_sendBundle", s.bundle("A B80", object{"refundPercent": 90}))
			s.send("eth_sendBundle", s.bundle("A B60", object{"refundPercent": 90}))
		}, "A B80 →user0"},
		{"the best refund, not the best for the builder", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A B50", object{"refundPercent": 90}))
			s.send("eth_sendBundle", s.bundle("A B80", object{"refundPercent": 20}))
		}, "A B50 →user0"},
		{"nested, as mev_sendBundle says it", func(s *stage) {
			s.send("mev_sendBundle", share1(refund90, object{"bundle": share1(nil, s.tx("A"))}, s.tx("B60")))
		}, "A B60 →user0"},
		{"nested and flat compete", func(s *stage) {
			s.send("mev_sendBundle", share1(refund90, object{"bundle": share1(nil, s.tx("A"))}, s.tx("B80")))
			s.send("eth_sendBundle", s.bundle("A B60", object{"refundPercent": 90}))
		}, "A B80 →user0"},
		{"shares of a nested bundle are two payouts", func(s *stage) {
			config := object{"refundConfig": []object{
				{"address": addressOf(testWallet("user", 5)), "percent": 70}, {"address": addressOf(testWallet("user", 6)),
					"percent": 30},
			}}
			s.send("mev_sendBundle", share1(refund90, object{"bundle": share1(config, s.tx("A"))}, s.tx("B60")))
		}, "A B60 →user5 →user6"},
		{"a recipient is named", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A B50", object{
				"refundPercent": 50, "refundRecipient": addressOf(testWallet("user", 6)),
				"refundTxHashes": []string{s.hash("B50").Hex()},
			}))
		}, "A B50 →user6"},
		{"a delayed refund is not in the block", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A B50", object{"refundPercent": 90, "delayedRefund": true}))
		}, "A B50"},
		{"a backrun without its target has no gap to close", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("B50", nil))
		}, ""},
		{"what needs another order comes after it", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A2", nil))
			s.send("eth_sendBundle", s.bundle("A", nil))
		}, "A A2"},
		{"a bundle with a transaction that reverts", func(s *stage) { s.send("eth_sendBundle", s.bundle("P R", nil)) }, ""},
		{"one that may revert stays", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P R", object{"revertingTxHashes": []string{s.hash("R").Hex()}}))
		}, "P R"},
		{"one that may be left out is", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P R Q", object{"droppingTxHashes": []string{s.hash("R").Hex()}}))
		}, "P Q"},
		{"one that cannot be applied takes its bundle with it", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("A2 P", object{"revertingTxHashes": []string{s.hash("A2").Hex()}}))
		}, ""},
		{"another block's", func(s *stage) { s.send("eth_sendBundle", s.bundle("P", object{"blockNumber": "0x2"})) }, ""},
		{"the next block's, which is not named", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"blockNumber": nil}))
		}, "P"},
		{"too late by the clock", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"maxTimestamp": 1_700_000_011}))
		}, ""},
		{"too early by the clock", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"minTimestamp": 1_700_000_013}))
		}, ""},
		{"at the very second", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"minTimestamp": 1_700_000_012, "maxTimestamp": 1_700_000_012}))
		}, "P"},
		{"a newer version", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"replacementUuid": uuidOf(1)}))
			s.send("eth_sendBundle", s.bundle("Q", object{"replacementUuid": uuidOf(1)}))
		}, "Q"},
		{"cancelled", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"replacementUuid": uuidOf(1)}))
			s.send("eth_sendBundle", s.bundle("Q", object{"replacementUuid": uuidOf(2)}))
			s.want("true", "eth_cancelBundle", object{"replacementUuid": uuidOf(1)})
			s.want("false", "eth_cancelBundle", object{"replacementUuid": uuidOf(3)})
		}, "Q"},
		{"cancelled by nothing in its place", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"replacementUuid": uuidOf(1)}))
			s.send("eth_sendBundle", object{"txs": []string{}, "replacementUuid": uuidOf(1)})
		}, ""},
		{"cancelled by somebody else", func(s *stage) {
			s.send("eth_sendBundle", s.bundle("P", object{"replacementUuid": uuidOf(1)}))
			if got := s.do(testWallet("stranger", 0), "eth_cancelBundle", object{"replacementUuid": uuidOf(1)}); got != "false" {
				s.t.Errorf("a stranger's cancellation: %s", got)
			}
		}, "P"},
		{"private transactions, straight from their senders", func(s *stage) {
			s.want(`"`+s.hash("P").Hex()+`"`, "eth_sendPrivateTransaction", object{"tx": s.raw("P")})
			s.want(`"`+s.hash("P").Hex()+`"`, "eth_sendPrivateTransaction", object{"tx": s.raw("P")})
			s.want(`"`+s.hash("Q").Hex()+`"`, "eth_sendPrivateRawTransaction", s.raw("Q"))
		}, "P Q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stageOn(t, node)
			c.setup(s)
			if got := s.block(); got != c.want {
				t.Errorf("the block is %q, want %q", got, c.want)
			}
		})
	}
}

// want calls a method of which the answer is known.
func (s *stage) want(answer, method string, param any) {
	s.t.Helper()
	if got := s.do(testWallet("service", 0), method, param); got != answer {
		s.t.Errorf("%s answers %s, want %s", method, got, answer)
	}
}

// What cannot be taken is refused, and nothing of it is kept.
func TestEndpointRefuses(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		name, method string
		param        any
		want         string
	}{
		{"nothing", "eth_sendBundle", object{}, "error bundle with no txs"},
		{"no transaction", "eth_sendBundle", object{"txs": []string{"0x1234"}},
			"error unable to decode txs: transaction type not supported"},
		{"too much is given back", "eth_sendBundle", s.bundle("P", object{"refundPercent": 100}),
			"error invalid refund percent 100"},
		{"a hash", "mev_sendBundle", share1(nil, object{"hash": s.hash("A")}, s.tx("B50")), "error unmatched bundle"},
		{"an empty element", "mev_sendBundle", share1(nil, object{}), "error an element is a transaction or a bundle"},
		{"no block", "mev_sendBundle", object{"body": []object{s.tx("P")}}, "error inclusion without a block"},
		{
			"refunds above 100 %", "mev_sendBundle",
			share1(object{"refund": []object{{"bodyIdx": 0, "percent": 60}, {"bodyIdx": 1, "percent": 60}}},
				s.tx("P"), s.tx("Q")),
			"error refunds of 120 % with shares of 0 %",
		},
		{
			"a refund for nobody", "mev_sendBundle", share1(object{"refund": []object{{"bodyIdx": 7, "percent": 60}}},
				s.tx("P")),
			"error a refund of 60 % for element 7 of 1",
		},
		{"cancel nothing", "eth_cancelBundle", object{}, "error no replacementUuid"},
		{"no private transaction", "eth_sendPrivateTransaction", object{},
			"error unable to decode txs: typed transaction too short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.do(testWallet("service", 0), c.method, c.param); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if got := s.block(); got != "" {
		t.Errorf("the block is %q", got)
	}
}

// Only who signs is heard, and only for what was signed.
func TestEndpointWantsASignature(t *testing.T) {
	s := newStage(t)
	body, foreign := []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{}]}`),
		addressOf(testWallet("service", 0)).Hex()
	for name, header := range map[string]string{
		"none": "", "no signature": foreign, "no hex": foreign + ":signature", "too short": foreign + ":0x1234",
		"all zero": foreign + ":" + hexutil.Encode(make([]byte, 65)),
	} {
		if got := s.post(body, header); got != "403 Forbidden "+errSignature.Error() {
			t.Errorf("%s: %s", name, got)
		}
	}
}
