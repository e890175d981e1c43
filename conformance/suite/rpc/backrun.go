package rpc

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
)

// paysWei is what backruns pay the fee recipient on top of their tip. No percentage divides it
// evenly, so that errors of rounding show.
const paysWei = 10_000_000_000_000_777

// patience is for how many blocks an order is valid that must be included. Other specs may use
// slots for themselves; it is more than they may use in a row.
const patience = 12

// backrun is a backrun in the chain, with the transaction that it follows.
type backrun struct {
	owner        *wallet
	target, tx   *types.Transaction
	targetAt, at *receipt
	baseFee      *big.Int
	valueWei     *big.Int // what the backrun paid the fee recipient
	targetHash   common.Hash
}

// makeFollowed sends an order of one transaction, has a searcher follow it by the hash that hints
// show, and waits until the world's builder has included both in a block. The function order
// returns the method and the parameter that send the raw transaction.
func makeFollowed(t *suite.T, order func(t *suite.T, tx string) (method string, param object)) *backrun {
	requireBuilders(t)
	b := &backrun{owner: newWallet(t)}
	b.target = b.owner.send(1)
	method, param := order(t, encodeTx(t, b.target))
	if answer := call(t, key(t), method, param); answer.Refused() {
		t.Inconclusive("%s refuses the order: %s", method, answer)
	}
	b.targetHash = b.target.Hash()
	b.tx = newWallet(t).create(paysWei, codePayment)
	b.follow(t)
	b.land(t)
	return b
}

// sendBundled sends transactions and a backrun behind them as one bundle without hints, and waits
// until it is in a block. The first transaction is its owner's.
func sendBundled(t *suite.T, owner *wallet, refund []object, txs ...*types.Transaction) *backrun {
	b := &backrun{owner: owner, target: txs[0], tx: newWallet(t).create(paysWei, codePayment)}
	params := change(makeSoonParams(t, patience), object{"body": body(t, append(txs, b.tx)...),
		"validity": object{"refund": refund}})
	if answer := call(t, key(t), "mev_sendBundle", params); answer.Refused() {
		t.Inconclusive("the bundle is refused: %s", answer)
	}
	b.land(t)
	return b
}

// follow sends the backrun as soon as the target knows the hash that it follows.
func (b *backrun) follow(t *suite.T) { b.followAs(t, key(t)) }

// followAs is follow with a given signer. It returns the answer.
func (b *backrun) followAs(t *suite.T, signer *ecdsa.PrivateKey) *probe.RPCAnswer {
	params := change(makeSoonParams(t, patience),
		object{"body": append([]object{{"hash": crypto.Keccak256Hash(b.targetHash[:]).Hex()}}, body(t, b.tx)...)})
	var answer *probe.RPCAnswer
	_ = t.Eventually(t.Target.Budgets.Hint(), func() error {
		if answer = call(t, signer, "mev_sendBundle", params); answer.Refused() {
			return errRefused
		}
		return nil
	})
	if answer.Refused() {
		t.Inconclusive("the backrun is refused: %s", answer)
	}
	return answer
}

// makeSoonParams makes the parameters of mev_sendBundle, without a body, for a bundle that is valid
// in the given number of next blocks.
func makeSoonParams(t *suite.T, blocks uint64) object {
	at := head(t)
	return change(share(t), object{"inclusion": object{"block": hexNumber(at + 1), "maxBlock": hexNumber(at + blocks)}})
}

// land waits until a builder has the order with both transactions, and has the builder include it
// in a block.
func (b *backrun) land(t *suite.T) {
	err := t.Eventually(slots(t, 6), func() error {
		for _, s := range listSent(t, b.tx) {
			if slices.Contains(s.Txs, b.target.Hash()) {
				return nil
			}
		}
		return errNotSent
	})
	t.Ready(err, "wait for an order with both transactions at the world's builder "+world.BuilderNames[0])
	include(t, b.tx)
	if b.at = waitLanded(t, b.tx, slots(t, 12)); b.at == nil {
		t.Inconclusive("the backrun is in no block")
	}
	if b.targetAt = receiptOf(t, b.target); b.targetAt == nil || b.targetAt.Block != b.at.Block {
		t.Inconclusive("the order that was followed is not in the backrun's block")
	}
	b.baseFee = baseFee(t, b.at.Block)
	tip := new(big.Int).Sub((*big.Int)(b.at.Price), b.baseFee)
	b.valueWei = new(big.Int).Add(big.NewInt(paysWei), tip.Mul(tip, new(big.Int).SetUint64(uint64(b.at.Gas))))
}

// refund returns what the world's builder pays: a percentage of the backrun's value, rounded down,
// less the cost of the payouts to all who share the refund.
func (b *backrun) refund(percent, sharers int64) *big.Int {
	cost := new(big.Int).Mul(b.baseFee, big.NewInt(network.PayoutGas*sharers))
	return cost.Sub(percentOf(b.valueWei, percent), cost)
}

func percentOf(wei *big.Int, percent int64) *big.Int {
	part := new(big.Int).Mul(wei, big.NewInt(percent))
	return part.Quo(part, big.NewInt(100))
}

// checkGets fails the spec unless an account has received exactly this amount in the backrun's
// block. What the account has spent on the followed order is added back first.
func (b *backrun) checkGets(t *suite.T, who common.Address, wei *big.Int) {
	got := balance(t, who, b.at.Block)
	got.Sub(got, balance(t, who, b.at.Block-1))
	if who == b.owner.address() {
		spent := new(big.Int).Mul((*big.Int)(b.targetAt.Price), new(big.Int).SetUint64(uint64(b.targetAt.Gas)))
		got.Add(got, spent.Add(spent, b.target.Value()))
	}
	t.Check(got.Cmp(wei) == 0, fmt.Sprintf("%s wei for %s of a backrun that paid %s", wei, who, b.valueWei), got)
}

// freshAccount returns an account without money, which only this spec knows.
func freshAccount(t *suite.T) common.Address { return crypto.PubkeyToAddress(key(t).PublicKey) }

// shareWith makes orders for makeFollowed: a bundle of one transaction with a hint and with the
// given other members.
func shareWith(changes func(t *suite.T) object) func(t *suite.T, tx string) (string, object) {
	return func(t *suite.T, tx string) (string, object) {
		param := change(makeSoonParams(t, patience), object{"body": []object{{"tx": tx, "canRevert": false}},
			"privacy": object{"hints": []string{"hash"}}})
		return "mev_sendBundle", change(param, changes(t))
	}
}

// describeBackruns adds specs about the refunds that blocks pay for backruns.
func describeBackruns(s *suite.Set) {
	s.It("RPC-SHR-27", "gives 90 % back to whom a bundle's transaction is of", func(t *suite.T) {
		b := makeFollowed(t, shareWith(func(*suite.T) object { return nil }))
		b.checkGets(t, b.owner.address(), b.refund(90, 1))
	})
	s.It("RPC-SHR-27", "gives 90 % back to whom a private transaction is of", func(t *suite.T) {
		b := makeFollowed(t, func(_ *suite.T, tx string) (string, object) {
			return "eth_sendPrivateTransaction", object{"tx": tx,
				"preferences": object{"fast": false, "privacy": object{"hints": []string{"hash"}}}}
		})
		b.checkGets(t, b.owner.address(), b.refund(90, 1))
	})
	s.It("RPC-SHR-28", "splits a refund between addresses", func(t *suite.T) {
		var one, other common.Address
		b := makeFollowed(t, shareWith(func(t *suite.T) object {
			one, other = freshAccount(t), freshAccount(t)
			return object{"validity": object{"refundConfig": []object{{"address": one.Hex(), "percent": 61},
				{"address": other.Hex(), "percent": 33}}}}
		}))
		b.checkGets(t, one, percentOf(b.refund(90, 2), 61))
		b.checkGets(t, other, percentOf(b.refund(90, 2), 33))
		b.checkGets(t, b.owner.address(), new(big.Int))
	})
	s.It("RPC-SHR-28", "splits the value between the bundle's transactions", func(t *suite.T) {
		requireBuilders(t)
		one, other := newWallet(t), newWallet(t)
		first, second := one.send(0), other.send(0)
		b := sendBundled(t, one, []object{{"bodyIdx": 0, "percent": 37}, {"bodyIdx": 1, "percent": 41}}, first, second)
		b.checkGets(t, one.address(), b.refund(37, 1))
		if b.owner, b.target, b.targetAt = other, second, receiptOf(t, second); b.targetAt == nil {
			t.Inconclusive("the bundle is not whole")
		}
		b.checkGets(t, other.address(), b.refund(41, 1))
	})
	s.It("RPC-SHR-29", "refuses a backrun with hints of its own", func(t *suite.T) {
		owner, searcher := newWallet(t), newWallet(t)
		target := owner.send(1)
		checkHash(t, call(t, key(t), "mev_sendBundle",
			change(makeSoonParams(t, patience), object{"body": body(t, target), "privacy": object{"hints": []string{"hash"}}})),
			target.Hash())
		b := &backrun{targetHash: target.Hash(), tx: searcher.send(1)}
		b.follow(t) // the backrun without hints is accepted
		follows := append([]object{{"hash": crypto.Keccak256Hash(b.targetHash[:]).Hex()}}, body(t, searcher.send(2))...)
		checkRefused(t, call(t, key(t), "mev_sendBundle",
			change(makeSoonParams(t, patience), object{"body": follows, "privacy": object{"hints": []string{"hash"}}})))
	})
}
