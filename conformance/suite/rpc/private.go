package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// sent fails the spec unless the result is the transaction's hash.
func sent(t *suite.T, answer *probe.RPCAnswer, tx *types.Transaction) {
	var hash string
	result(t, answer, &hash)
	t.Check(strings.EqualFold(hash, tx.Hash().Hex()), tx.Hash().Hex(), hash)
}

// sendPrivate: eth_sendPrivateTransaction.
func sendPrivate(s *suite.Set) {
	const method = "eth_sendPrivateTransaction"
	plain := func(clause, title string, members func(t *suite.T) object) {
		s.It(clause, title, func(t *suite.T) {
			tx := money(t).send(1)
			sent(t, call(t, key(t), method, with(members(t), object{"tx": raw(t, tx)})), tx)
		})
	}
	prefers := func(preferences object) func(*suite.T) object {
		return func(*suite.T) object { return object{"preferences": preferences} }
	}
	plain("RPC-PRI-01", "answers the hash", func(*suite.T) object { return nil })
	plain("RPC-PRI-02", "needs no maxBlockNumber", func(*suite.T) object {
		return object{"preferences": object{"fast": false}}
	})
	plain("RPC-PRI-03", "takes maxBlockNumber", func(t *suite.T) object {
		return object{"maxBlockNumber": hexNumber(head(t) + 10)}
	})
	s.It("RPC-PRI-04", "refuses a maxBlockNumber that is there", func(t *suite.T) {
		right(t, "eth_sendPrivateTransaction")
		tx := money(t).send(1)
		refused(t, call(t, key(t), method, object{"tx": raw(t, tx), "maxBlockNumber": hexNumber(max(head(t), 2) - 1)}))
	})
	s.It("RPC-PRI-05", "refuses what is no transaction", func(t *suite.T) {
		right(t, "eth_sendPrivateTransaction")
		for _, text := range []any{"0x", "0x02", "hello", 7, nil} {
			refused(t, call(t, key(t), method, object{"tx": text}))
		}
	})
	plain("RPC-PRI-06", "takes fast", prefers(object{"fast": true}))
	plain("RPC-PRI-07", "takes preferences without fast", prefers(object{}))
	for _, hint := range []string{"contract_address", "function_selector", "calldata", "logs", "hash"} {
		plain("RPC-PRI-08", "takes the hint "+hint,
			prefers(object{"fast": false, "privacy": object{"hints": []string{hint}}}))
	}
	for _, hint := range []string{"default_logs", "tx_hash", "full"} {
		plain("RPC-PRI-09", "takes the hint "+hint,
			prefers(object{"fast": false, "privacy": object{"hints": []string{hint}}}))
	}
	s.It("RPC-PRI-10", "refuses an unknown hint", func(t *suite.T) {
		right(t, "eth_sendPrivateTransaction")
		refused(t, call(t, key(t), method,
			object{"tx": "0x02", "preferences": object{"fast": false, "privacy": object{"hints": []string{"everything"}}}}))
	})
	plain("RPC-PRI-11", "takes the builder default",
		prefers(object{"fast": false, "privacy": object{"builders": []string{"default"}}}))
	plain("RPC-PRI-12", "takes one refund",
		prefers(object{"fast": false, "validity": object{"refund": []object{{"address": sink.Hex(), "percent": 80}}}}))
	plain("RPC-PRI-12", "takes two refunds", prefers(object{"fast": false, "validity": object{"refund": []object{
		{"address": sink.Hex(), "percent": 50}, {"address": common.Address{1}.Hex(), "percent": 50},
	}}}))
	s.It("RPC-PRI-13", "refuses refunds of 101 %", func(t *suite.T) {
		tx := money(t).send(1)
		wrong := object{"fast": false, "validity": object{"refund": []object{{"address": sink.Hex(), "percent": 60},
			{"address": common.Address{1}.Hex(), "percent": 41}}}}
		refused(t, call(t, key(t), method, object{"tx": raw(t, tx), "preferences": wrong}))
		sent(t, call(t, key(t), method, object{"tx": raw(t, tx)}), tx)
	})
	s.It("RPC-PRI-14", "takes the same transaction again", func(t *suite.T) {
		tx, signer := money(t).send(1), key(t)
		for range 2 {
			sent(t, call(t, signer, method, object{"tx": raw(t, tx)}), tx)
		}
	})
	s.It("RPC-PRI-17", "keeps the transaction out of the public pool", func(t *suite.T) {
		tx := money(t).send(1)
		sent(t, call(t, key(t), method, object{"tx": raw(t, tx)}), tx)
		end := t.Now().Add(200 * time.Millisecond)
		for ; t.Now().Before(end); t.Until(t.Now().Add(10 * time.Millisecond)) {
			var found json.RawMessage // look often: soon it may be in a block
			ask(t, &found, "eth_getTransactionByHash", tx.Hash().Hex())
			var known struct {
				Block *string `json:"blockNumber"`
			}
			_ = json.Unmarshal(found, &known) // null is no object
			t.Check(string(found) == "null" || known.Block != nil, "no such transaction in the pool", string(found))
		}
	})
}

// sendPrivateRaw: eth_sendPrivateRawTransaction.
func sendPrivateRaw(s *suite.Set) {
	const method = "eth_sendPrivateRawTransaction"
	s.It("RPC-PRR-01", "answers the hash", func(t *suite.T) {
		tx := money(t).send(1)
		sent(t, call(t, key(t), method, raw(t, tx)), tx)
	})
	s.It("RPC-PRR-02", "takes preferences", func(t *suite.T) {
		tx := money(t).send(1)
		sent(t, call(t, key(t), method, raw(t, tx), object{"fast": true, "privacy": object{"hints": []string{"hash"}}}), tx)
	})
	s.It("RPC-PRR-03", "refuses what is no transaction", func(t *suite.T) {
		right(t, "eth_sendPrivateRawTransaction")
		for _, text := range []any{"0x", "0x02", "hello", 7} {
			refused(t, call(t, key(t), method, text))
		}
	})
}

// cancelPrivate: eth_cancelPrivateTransaction.
func cancelPrivate(s *suite.Set) {
	// cancelled fails the spec unless the answer's result is the wanted one.
	cancelled := func(t *suite.T, answer *probe.RPCAnswer, want bool) {
		var got bool
		result(t, answer, &got)
		t.Check(got == want, fmt.Sprint(want), got)
	}
	// pending makes a transaction that cannot be included, because its nonce is too high.
	pending := func(t *suite.T) *types.Transaction {
		w := money(t)
		w.next = 5
		return w.send(1)
	}
	s.It("RPC-CPR-01", "lets its signer cancel", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		sent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": raw(t, tx)}), tx)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
	})
	s.It("RPC-CPR-02", "lets nobody else cancel", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		sent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": raw(t, tx)}), tx)
		cancelled(t, call(t, key(t), cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), false)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
	})
	s.It("RPC-CPR-03", "answers false for what nobody sent", func(t *suite.T) {
		begun(t)
		cancelled(t, call(t, key(t), cancelPrivateMethod, object{"txHash": common.Hash{1}.Hex()}), false)
	})
	s.It("RPC-CPR-04", "answers false the second time", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		sent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": raw(t, tx)}), tx)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), false)
	})
	s.It("RPC-CPR-05", "refuses a call without txHash", func(t *suite.T) {
		right(t, cancelPrivateMethod)
		refused(t, call(t, key(t), cancelPrivateMethod, object{}))
	})
}
