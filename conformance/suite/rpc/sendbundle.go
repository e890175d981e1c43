package rpc

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// uuid makes a random UUID, which no other spec uses.
func uuid(t *suite.T) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", t.Random.Uint32(), t.Random.Uint32()&0xffff, t.Random.Uint32()&0xfff,
		t.Random.Uint32()&0xfff,
		t.Random.Uint64()&0xffffffffffff)
}

// taken fails the spec unless eth_sendBundle answers the bundle's hash. It returns the result's
// members.
func taken(t *suite.T, answer *probe.RPCAnswer, txs ...*types.Transaction) object {
	var members object
	result(t, answer, &members)
	want := bundleHash(txs...).Hex()
	got, _ := members["bundleHash"].(string)
	t.Check(strings.EqualFold(got, want), "bundleHash "+want, members)
	return members
}

// sendBundle: eth_sendBundle.
func sendBundle(s *suite.Set) {
	const method = "eth_sendBundle"
	// plain adds a spec that sends a bundle of two transfers with changed members. The bundle must
	// be accepted.
	plain := func(clause, title string, changes func(t *suite.T) object) {
		s.It(clause, title, func(t *suite.T) {
			w := money(t)
			txs := []*types.Transaction{w.send(1), w.send(2)}
			taken(t, call(t, key(t), method, with(bundle(t, txs...), changes(t))), txs...)
		})
	}
	// never adds a spec that sends a bundle with changed members. The bundle must be refused. The
	// spec is inconclusive if the bundle without the changes is refused too.
	never := func(clause, title string, changes func(t *suite.T) object) {
		s.It(clause, title, func(t *suite.T) {
			w := money(t)
			tx := w.send(1)
			refused(t, call(t, key(t), method, with(bundle(t, tx), changes(t))))
			answer := call(t, key(t), method, bundle(t, tx))
			if answer.Refused() {
				t.Inconclusive("the same bundle without the mistake is refused too: %s", answer)
			}
		})
	}
	fixed := func(o object) func(*suite.T) object { return func(*suite.T) object { return o } }

	plain("RPC-BUN-01", "answers the hash of two transactions", fixed(nil))
	s.It("RPC-BUN-01", "answers the hash of one transaction", func(t *suite.T) {
		tx := money(t).send(1)
		taken(t, call(t, key(t), method, bundle(t, tx)), tx)
	})
	s.It("RPC-BUN-02", "refuses a bundle without txs", func(t *suite.T) {
		right(t, "eth_sendBundle")
		refused(t, call(t, key(t), method, object{"blockNumber": "0xffffff"}))
		refused(t, call(t, key(t), method, object{"blockNumber": "0xffffff", "txs": []string{}}))
	})
	s.It("RPC-BUN-03", "takes 100 transactions", func(t *suite.T) {
		w := money(t)
		var txs []*types.Transaction
		for range 100 {
			txs = append(txs, w.send(1))
		}
		taken(t, call(t, key(t), method, bundle(t, txs...)), txs...)
	})
	s.It("RPC-BUN-03", "refuses 101 transactions", func(t *suite.T) {
		right(t, "eth_sendBundle")
		w := money(t)
		var txs []*types.Transaction
		for range 101 {
			txs = append(txs, w.send(1))
		}
		refused(t, call(t, key(t), method, bundle(t, txs...)))
	})
	s.It("RPC-BUN-04", "refuses 300,001 bytes of transactions", func(t *suite.T) {
		right(t, "eth_sendBundle")
		w := money(t)
		var txs []*types.Transaction
		for range 4 {
			txs = append(txs, w.tx(&sink, 0, 16_000_000, make([]byte, 75_000)))
		}
		refused(t, call(t, key(t), method, bundle(t, txs...)))
	})
	s.It("RPC-BUN-04", "takes 290,000 bytes of transactions", func(t *suite.T) {
		w := money(t)
		var txs []*types.Transaction
		for range 4 {
			txs = append(txs, w.tx(&sink, 0, 16_000_000, make([]byte, 72_000)))
		}
		taken(t, call(t, key(t), method, bundle(t, txs...)), txs...)
	})
	for _, text := range []string{"0x", "0x02", "0x1234", "no hex", "0x02f8"} {
		s.It("RPC-BUN-05", "refuses the transaction "+text, func(t *suite.T) {
			right(t, "eth_sendBundle")
			refused(t, call(t, key(t), method, object{"txs": []string{text}, "blockNumber": "0xffffff"}))
		})
	}
	never("RPC-BUN-06", "refuses a block that is there", func(t *suite.T) object {
		return object{"blockNumber": hexNumber(max(head(t), 2) - 1)}
	})
	for _, number := range []any{"abc", "0xzz", []int{1}, true, -1} {
		s.It("RPC-BUN-07", fmt.Sprintf("refuses the block %v", number), func(t *suite.T) {
			right(t, "eth_sendBundle")
			refused(t, call(t, key(t), method, object{"txs": []string{"0x02"}, "blockNumber": number}))
		})
	}
	plain("RPC-BUN-08", "takes a window of time", fixed(object{"minTimestamp": 1, "maxTimestamp": 99_999_999_999}))
	never("RPC-BUN-09", "refuses a window that ends before it begins",
		fixed(object{"minTimestamp": 99_999_999_999, "maxTimestamp": 99_999_999_998}))
	plain("RPC-BUN-10", "takes empty revertingTxHashes", fixed(object{"revertingTxHashes": []string{}}))
	plain("RPC-BUN-10", "takes hashes in revertingTxHashes",
		fixed(object{"revertingTxHashes": []string{common.Hash{7}.Hex()}}))
	plain("RPC-BUN-11", "takes a replacementUuid", func(t *suite.T) object { return object{"replacementUuid": uuid(t)} })
	never("RPC-BUN-11", "refuses a replacementUuid that is none", fixed(object{"replacementUuid": "my-bundle"}))
	s.It("RPC-BUN-12", "answers smart with builders", func(t *suite.T) {
		tx := money(t).send(1)
		members := taken(t, call(t, key(t), method, with(bundle(t, tx), object{"builders": []string{"default"}})), tx)
		_, is := members["smart"].(string)
		t.Check(is, "smart as a string", members)
	})
	s.It("RPC-BUN-13", "answers no smart without builders", func(t *suite.T) {
		tx := money(t).send(1)
		_, has := taken(t, call(t, key(t), method, bundle(t, tx)), tx)["smart"]
		t.Check(!has, "no smart", "smart")
	})
	plain("RPC-BUN-14", "takes builders that nobody knows", fixed(object{"builders": []string{"conformance suite"}}))
	s.It("RPC-BUN-15", "takes the same bundle again", func(t *suite.T) {
		w, signer := money(t), key(t)
		tx := w.send(1)
		for range 2 {
			taken(t, call(t, signer, method, bundle(t, tx)), tx)
		}
	})
	s.It("RPC-BUN-16", "refuses a transaction of another chain", func(t *suite.T) {
		right(t, "eth_sendBundle")
		w := money(t)
		w.chain = big.NewInt(424242)
		refused(t, call(t, key(t), method, bundle(t, w.send(1))))
	})
	plain("RPC-BUN-17", "takes the nil UUID", fixed(object{"replacementUuid": "00000000-0000-0000-0000-000000000000"}))
	plain("RPC-BUN-19", "takes a bundle without builders", fixed(object{"builders": []string{}}))
}

// cancelBundle: eth_cancelBundle.
func cancelBundle(s *suite.Set) {
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
		signer, name, tx := key(t), uuid(t), money(t).send(1)
		taken(t, call(t, signer, "eth_sendBundle", with(bundle(t, tx), object{"replacementUuid": name})), tx)
		answer := call(t, signer, method, object{"replacementUuid": name})
		t.Check(!answer.Refused(), "success", answer)
	})
	s.It("RPC-CAN-02", "refuses a cancel without a name", func(t *suite.T) {
		right(t, "eth_cancelBundle")
		refused(t, call(t, key(t), method, object{}))
	})
	s.It("RPC-CAN-03", "refuses a name that is no UUID", func(t *suite.T) {
		right(t, "eth_cancelBundle")
		refused(t, call(t, key(t), method, object{"replacementUuid": "my-bundle"}))
		refused(t, call(t, key(t), method, object{"replacementUuid": 7}))
	})
	s.It("RPC-CAN-04", "answers one of the known results", func(t *suite.T) {
		signer, name, tx := key(t), uuid(t), money(t).send(1)
		taken(t, call(t, signer, "eth_sendBundle", with(bundle(t, tx), object{"replacementUuid": name})), tx)
		quiet(t, call(t, signer, method, object{"replacementUuid": name}))
	})
	s.It("RPC-CAN-05", "takes a name that nobody used", func(t *suite.T) {
		begun(t)
		quiet(t, call(t, key(t), method, object{"replacementUuid": uuid(t)}))
	})
}
