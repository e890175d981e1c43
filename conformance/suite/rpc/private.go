package rpc

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
)

// checkSent fails the spec unless the result is the transaction's hash.
func checkSent(t *suite.T, answer *probe.RPCAnswer, tx *types.Transaction) {
	var hash string
	readResult(t, answer, &hash)
	t.Check(strings.EqualFold(hash, tx.Hash().Hex()), tx.Hash().Hex(), hash)
}

// describeSendPrivate adds specs about eth_sendPrivateTransaction.
func describeSendPrivate(s *suite.Set) {
	const method = "eth_sendPrivateTransaction"
	plain := func(clause, title string, members func(t *suite.T) object) {
		s.It(clause, title, func(t *suite.T) {
			tx := newWallet(t).send(1)
			checkSent(t, call(t, key(t), method, change(members(t), object{"tx": encodeTx(t, tx)})), tx)
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
		checkRightCall(t, "eth_sendPrivateTransaction")
		tx := newWallet(t).send(1)
		checkRefused(t, call(t, key(t), method, object{"tx": encodeTx(t, tx), "maxBlockNumber": hexNumber(settledBlock(t))}))
	})
	s.It("RPC-PRI-05", "refuses what is no transaction", func(t *suite.T) {
		checkRightCall(t, "eth_sendPrivateTransaction")
		for _, text := range []any{"0x", "0x02", "hello", 7, nil} {
			checkRefused(t, call(t, key(t), method, object{"tx": text}))
		}
	})
	s.It("RPC-PRI-05", "refuses a transaction with a byte behind it", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkRefused(t, call(t, key(t), method, object{"tx": encodeTx(t, tx) + "00"}))
		checkSent(t, call(t, key(t), method, object{"tx": encodeTx(t, tx)}), tx)
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
		checkRightCall(t, "eth_sendPrivateTransaction")
		checkRefused(t, call(t, key(t), method,
			object{"tx": "0x02", "preferences": object{"fast": false, "privacy": object{"hints": []string{"everything"}}}}))
	})
	s.It("RPC-PRI-10", "refuses an unknown hint beside one that is known", func(t *suite.T) {
		tx := newWallet(t).send(1)
		wrong := object{"fast": false, "privacy": object{"hints": []string{"hash", "everything"}}}
		checkRefused(t, call(t, key(t), method, object{"tx": encodeTx(t, tx), "preferences": wrong}))
		checkSent(t, call(t, key(t), method, object{"tx": encodeTx(t, tx)}), tx)
	})
	plain("RPC-PRI-11", "takes the builder default",
		prefers(object{"fast": false, "privacy": object{"builders": []string{"default"}}}))
	plain("RPC-PRI-12", "takes one refund",
		prefers(object{"fast": false, "validity": object{"refund": []object{{"address": sink.Hex(), "percent": 80}}}}))
	plain("RPC-PRI-12", "takes two refunds", prefers(object{"fast": false, "validity": object{"refund": []object{
		{"address": sink.Hex(), "percent": 50}, {"address": common.Address{1}.Hex(), "percent": 50},
	}}}))
	s.It("RPC-PRI-13", "refuses refunds of 101 %", func(t *suite.T) {
		tx := newWallet(t).send(1)
		wrong := object{"fast": false, "validity": object{"refund": []object{{"address": sink.Hex(), "percent": 60},
			{"address": common.Address{1}.Hex(), "percent": 41}}}}
		checkRefused(t, call(t, key(t), method, object{"tx": encodeTx(t, tx), "preferences": wrong}))
		checkSent(t, call(t, key(t), method, object{"tx": encodeTx(t, tx)}), tx)
	})
	s.It("RPC-PRI-13", "refuses refunds of 101 % for three", func(t *suite.T) {
		tx := newWallet(t).send(1)
		wrong := object{"fast": false, "validity": object{"refund": []object{{"address": sink.Hex(), "percent": 50},
			{"address": common.Address{1}.Hex(), "percent": 40}, {"address": common.Address{2}.Hex(), "percent": 11}}}}
		checkRefused(t, call(t, key(t), method, object{"tx": encodeTx(t, tx), "preferences": wrong}))
		checkSent(t, call(t, key(t), method, object{"tx": encodeTx(t, tx)}), tx)
	})
	s.It("RPC-PRI-14", "takes the same transaction again", func(t *suite.T) {
		tx, signer := newWallet(t).send(1), key(t)
		for range 2 {
			checkSent(t, call(t, signer, method, object{"tx": encodeTx(t, tx)}), tx)
		}
	})
	s.It("RPC-PRI-17", "keeps the transaction out of the public pool", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkSent(t, call(t, key(t), method, object{"tx": encodeTx(t, tx)}), tx)
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

// describeSendPrivateRaw adds specs about eth_sendPrivateRawTransaction.
func describeSendPrivateRaw(s *suite.Set) {
	const method = "eth_sendPrivateRawTransaction"
	s.It("RPC-PRR-01", "answers the hash", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkSent(t, call(t, key(t), method, encodeTx(t, tx)), tx)
	})
	s.It("RPC-PRR-02", "takes preferences", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkSent(t, call(t, key(t), method, encodeTx(t, tx), object{"fast": true,
			"privacy": object{"hints": []string{"hash"}}}), tx)
	})
	s.It("RPC-PRR-03", "refuses a transaction with a byte behind it", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkRefused(t, call(t, key(t), method, encodeTx(t, tx)+"00"))
		checkSent(t, call(t, key(t), method, encodeTx(t, tx)), tx)
	})
	s.It("RPC-PRR-03", "refuses what is no transaction", func(t *suite.T) {
		checkRightCall(t, "eth_sendPrivateRawTransaction")
		for _, text := range []any{"0x", "0x02", "hello", 7} {
			checkRefused(t, call(t, key(t), method, text))
		}
	})
}

// describeCancelPrivate adds specs about eth_cancelPrivateTransaction.
func describeCancelPrivate(s *suite.Set) {
	// cancelled fails the spec unless the answer's result is the wanted one.
	cancelled := func(t *suite.T, answer *probe.RPCAnswer, want bool) {
		var got bool
		readResult(t, answer, &got)
		t.Check(got == want, fmt.Sprint(want), got)
	}
	// pending makes a transaction that cannot be included, because its nonce is too high.
	pending := func(t *suite.T) *types.Transaction {
		w := newWallet(t)
		w.next = 5
		return w.send(1)
	}
	s.It("RPC-CPR-01", "lets its signer cancel", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		checkSent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx)}), tx)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
	})
	s.It("RPC-CPR-01", "lets its signer cancel what came raw", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		checkSent(t, call(t, signer, "eth_sendPrivateRawTransaction", encodeTx(t, tx)), tx)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
	})
	s.It("RPC-CPR-02", "lets nobody else cancel", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		checkSent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx)}), tx)
		cancelled(t, call(t, key(t), cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), false)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
	})
	s.It("RPC-CPR-03", "answers false for what nobody sent", func(t *suite.T) {
		waitBegun(t)
		cancelled(t, call(t, key(t), cancelPrivateMethod, object{"txHash": common.Hash{1}.Hex()}), false)
	})
	s.It("RPC-CPR-04", "answers false the second time", func(t *suite.T) {
		signer, tx := key(t), pending(t)
		checkSent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx)}), tx)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), true)
		cancelled(t, call(t, signer, cancelPrivateMethod, object{"txHash": tx.Hash().Hex()}), false)
	})
	s.It("RPC-CPR-05", "refuses a call without txHash", func(t *suite.T) {
		checkRightCall(t, cancelPrivateMethod)
		checkRefused(t, call(t, key(t), cancelPrivateMethod, object{}))
	})
}

// describePrivateTerms adds specs about for which blocks private transactions are offered, and to
// whom.
func describePrivateTerms(s *suite.Set) {
	s.Slow("RPC-PRI-21", "is offered up to maxBlockNumber and no longer", func(t *suite.T) {
		requireBuilders(t)
		checkOfferedUpTo(t, func() (tx *types.Transaction, from, to uint64) {
			tx, at := newWallet(t).send(1), head(t)
			checkSent(t, call(t, key(t), "eth_sendPrivateTransaction",
				object{"tx": encodeTx(t, tx), "maxBlockNumber": hexNumber(at + 4), "preferences": quiet}), tx)
			return tx, at, at + 4 // the target's newest block may be the one before
		})
	})
	s.Slow("RPC-PRI-20", "goes to the second of two builders that are named", func(t *suite.T) {
		checkGoesTo(t, world.BuilderNames[1], func(tx *types.Transaction) {
			checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": object{
				"fast": false, "privacy": object{"hints": []string{}, "builders": world.BuilderNames[:2]},
			}}), tx)
		})
	})
	s.Slow("RPC-PRI-20", "goes to the operator's builder and to no other", func(t *suite.T) {
		checkGoesTo(t, world.BuilderNames[0], func(tx *types.Transaction) {
			checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": object{
				"fast": false, "privacy": object{"hints": []string{}, "builders": []string{world.BuilderNames[0]}},
			}}), tx)
		})
	})
	s.Slow("RPC-CPR-06", "is not offered after its cancel", func(t *suite.T) {
		requireBuilders(t)
		signer, tx := key(t), newWallet(t).send(1)
		checkSent(t, call(t, signer, "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": quiet}), tx)
		waitBuilderHas(t, tx)
		var gone bool
		readResult(t, call(t, signer, "eth_cancelPrivateTransaction", object{"txHash": tx.Hash().Hex()}), &gone)
		t.Check(gone, "true", gone)
		at := head(t)
		waitForBlock(t, at+5)
		for _, s := range listSent(t, tx) {
			t.Check(s.Head <= at+1, fmt.Sprintf("no offer after block %d, when it was cancelled", at+1), s)
		}
		include(t, tx)
		waitForBlock(t, at+7)
		t.Check(receiptOf(t, tx) == nil, "no block with it", "it is in a block")
	})
}

// describeFastMode adds specs about what preferences.fast does with a private transaction.
func describeFastMode(s *suite.Set) {
	s.It("RPC-PRI-16", "goes to all registered builders", func(t *suite.T) {
		requireBuilders(t)
		tx := newWallet(t).send(1)
		checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx),
			"preferences": object{"fast": true}}),
			tx)
		var missing []string
		_ = t.Eventually(slots(t, 6), func() error {
			missing = nil
			for _, b := range t.World.Facts.Builders {
				missing = append(missing, b.Name)
			}
			for _, s := range listSent(t, tx) {
				missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Builder })
			}
			if len(missing) > 0 {
				return errNotSent
			}
			return nil
		})
		t.Check(len(missing) == 0, "the transaction at all of the world's builders", fmt.Sprintf("not at %v", missing))
	})
	s.It("RPC-PRI-16", "gives back half", func(t *suite.T) {
		b := makeFollowed(t, func(t *suite.T, tx string) (string, object) {
			return "eth_sendPrivateTransaction", object{"tx": tx,
				"preferences": object{"fast": true, "privacy": object{"hints": []string{"hash"}}}}
		})
		b.checkGets(t, b.owner.address(), b.refund(50, 1))
	})
}

// describePrivateRefunds adds specs about the shares of a backrun's value that blocks pay to the
// addresses that a private transaction names.
func describePrivateRefunds(s *suite.Set) {
	s.It("RPC-PRI-18", "gives one address its percentage of the whole", func(t *suite.T) {
		one := freshAccount(t)
		b := makeFollowed(t, privateWith(object{"address": one.Hex(), "percent": 61}))
		b.checkGetsPercent(t, one, 61, 1)
		b.checkGets(t, b.owner.address(), new(big.Int))
	})
	s.It("RPC-PRI-18", "gives two addresses their percentages, and keeps the rest", func(t *suite.T) {
		one, other := freshAccount(t), freshAccount(t)
		b := makeFollowed(t, privateWith(object{"address": one.Hex(), "percent": 57}, object{"address": other.Hex(),
			"percent": 23}))
		b.checkGetsPercent(t, one, 57, 2)
		b.checkGetsPercent(t, other, 23, 2)
		b.checkGets(t, b.owner.address(), new(big.Int))
	})
	s.It("RPC-PRI-18", "gives three addresses their percentages", func(t *suite.T) {
		to := []common.Address{freshAccount(t), freshAccount(t), freshAccount(t)}
		b := makeFollowed(t, privateWith(object{"address": to[0].Hex(), "percent": 41}, object{"address": to[1].Hex(),
			"percent": 23},
			object{"address": to[2].Hex(), "percent": 17}))
		for i, percent := range []int64{41, 23, 17} {
			b.checkGetsPercent(t, to[i], percent, 3)
		}
	})
}

// privateWith makes orders for makeFollowed: a private transaction with a hint, whose refunds go to
// these addresses.
func privateWith(refund ...object) func(*suite.T, string) (string, object) {
	return func(_ *suite.T, tx string) (string, object) {
		return "eth_sendPrivateTransaction", object{"tx": tx, "preferences": object{
			"fast": false, "privacy": object{"hints": []string{"hash"}}, "validity": object{"refund": refund},
		}}
	}
}

// checkGetsPercent fails the spec unless an account has received a percentage of the backrun's
// value. The description does not say who pays for the payouts to all sharers. So the account may
// have received less, by at most the cost of all of them.
func (b *backrun) checkGetsPercent(t *suite.T, who common.Address, percent, sharers int64) {
	most := percentOf(b.valueWei, percent)
	least := new(big.Int).Mul(b.baseFee, big.NewInt(network.PayoutGas*sharers))
	least.Sub(most, least)
	got := balance(t, who, b.at.Block)
	got.Sub(got, balance(t, who, b.at.Block-1))
	t.Check(got.Cmp(least) >= 0 && got.Cmp(most) <= 0, fmt.Sprintf("%s to %s wei for %s: %d %% of a backrun that paid %s",
		least, most, who, percent, b.valueWei), got)
}

const (
	// blocksTried is for how many blocks the RPC offers a private transaction to builders.
	blocksTried = 25
	// blocksLost is how many of them may be missing, because two blocks may come so close together
	// that nothing can be sent between them.
	blocksLost = 3
)

// quiet are preferences without hints. Slow specs use them, because they run beside specs that
// listen to the stream.
var quiet = object{"fast": false, "privacy": object{"hints": []string{}}}

// countOffered returns for which blocks builders were sent a transaction: how many, the first and
// the last.
func countOffered(t *suite.T, tx *types.Transaction) (count int, first, last uint64) {
	blocks := map[uint64]bool{}
	for _, s := range listSent(t, tx) {
		from, to := s.FirstBlock, s.LastBlock
		if from == 0 {
			from = s.Head + 1
		}
		if to == 0 { // a private transaction without a last block: the builder tries it for blocksTried blocks
			to = from + blocksTried - 1
		}
		for block := from; block <= min(to, from+100); block++ {
			blocks[block] = true
			if first == 0 || block < first {
				first = block
			}
			last = max(last, block)
		}
	}
	return len(blocks), first, last
}

// describeOfferedBlocks adds specs about for how many blocks a private transaction is offered.
func describeOfferedBlocks(s *suite.Set) {
	s.Slow("RPC-PRI-15", "offers it for 25 blocks and no longer", func(t *suite.T) {
		requireBuilders(t)
		tx := newWallet(t).send(1)
		before := head(t)
		checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": quiet}), tx)
		after := head(t)
		least, most := before+blocksTried-1, after+blocksTried+1 // the target's head may differ by a block
		var count int
		var first, last uint64
		// The loop ends when the last possible block is there, when an offer goes too far, or when
		// no new offer has come for some blocks.
		for at := head(t); ; at = head(t) {
			if count, first, last = countOffered(t, tx); at > most || last < least && at > max(last, after)+blocksLost ||
				last > most {
				break
			}
			waitForBlock(t, at+1)
		}
		t.Check(last >= least && last <= most, fmt.Sprintf("offers for blocks up to %d, 25 from the newest one",
			after+blocksTried), fmt.Sprintf("for %d to %d", first, last))
		t.Check(count >= blocksTried-blocksLost, "offers for 25 blocks", count)
		t.Check(last-first < blocksTried, "offers for 25 blocks in a row at most", fmt.Sprintf("for %d to %d", first, last))
	})
}
