package rpc

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// The rows of docs/differences.md: deployed tests what services do by default, literal what the
// description says. Specs of literal clauses send their requests to the target's literal instance.

// noRefunds has the members of validity that the description demands in a simulation; both are
// empty.
var noRefunds = object{"validity": object{"refund": []object{}, "refundConfig": []object{}}}

// early is the number of a block near genesis, when the base fee still falls from block to block.
const early = 3

// readSeenBaseFee simulates a bundle on an early block. It returns the base fee that the bundle
// sees, and the header of that block.
func readSeenBaseFee(t *suite.T) (seen *big.Int, parent *types.Header) {
	w := newWallet(t)
	waitForBlock(t, early)
	ask(t, &parent, "eth_getBlockByNumber", hexNumber(early), false)
	params := change(share(t, w.create(0, emit(opBaseFee))), object{"inclusion": object{"block": hexNumber(early + 1)}})
	return simulateWell(t, change(params, noRefunds), object{"parentBlock": hexNumber(early)}).firstTopic(t, 0), parent
}

// codeBurn creates a contract by code that hashes until its gas is used up.
const codeBurn = "0x5b61400060002050600056"

// simulateSlowly requests a simulation that takes more than 100 ms, with a timeout. It returns
// false if the simulation does not succeed in time.
func simulateSlowly(t *suite.T, timeout int) bool {
	var list []object
	for range 3 { // each uses about as much gas as one transaction may
		w := newWallet(t)
		list = append(list, object{"tx": encodeTx(t, w.tx(nil, 0, 16_000_000, common.FromHex(codeBurn))), "canRevert": true})
	}
	params := change(change(newestParams(t), noRefunds), object{"body": list})
	// the simulation may take longer than other answers do
	answer, err := probe.NewClient(t.Target.RPC.URL, nil, patienceForSlow).Call(t, key(t),
		probe.Call{Method: "mev_simBundle", Params: []any{params, object{"timeout": timeout}}, ID: 1})
	t.Check(err == nil, "an answer", err)
	var members simulated
	return !answer.Refused() && answer.Result(&members) == nil && members.success(t)
}

// sendUnpaid sends a private transaction without a tip and without hints.
func sendUnpaid(t *suite.T) *types.Transaction {
	w := newWallet(t)
	tx, err := types.SignNewTx(w.PrivateKey, types.LatestSignerForChainID(w.chain), &types.DynamicFeeTx{
		ChainID: w.chain, GasTipCap: new(big.Int), GasFeeCap: big.NewInt(feeCapWei), Gas: 21_000, To: &sink,
	})
	t.Ready(err, "sign a transaction")
	checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": quiet}), tx)
	return tx
}

// followable sends an order with a hint, and makes the body of a bundle that follows it.
func followable(t *suite.T) (target *types.Transaction, follows []object) {
	target = newWallet(t).send(1)
	order := change(makeSoonParams(t, patience), object{"body": body(t, target),
		"privacy": object{"hints": []string{"hash"}}})
	checkHash(t, call(t, key(t), "mev_sendBundle", order), target.Hash())
	hash := target.Hash()
	follows = append([]object{{"hash": crypto.Keccak256Hash(hash[:]).Hex()}},
		body(t, newWallet(t).create(paysWei, codePayment))...)
	return target, follows
}

// describeDeployedDialect adds specs about what services do by default.
func describeDeployedDialect(s *suite.Set) {
	s.It("RPC-BUN-20", "takes a bundle without blockNumber", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkHash(t, call(t, key(t), "eth_sendBundle", object{"txs": encodeTxs(t, tx)}), bundleHash(tx))
	})
	s.It("RPC-CAL-21", "simulates on the latest block without stateBlockNumber", func(t *suite.T) {
		w := newWallet(t)
		before := head(t)
		c := simulate(t, object{"stateBlockNumber": nil}, w.send(1))
		t.Check(*c.StateBlockNumber >= before && *c.StateBlockNumber <= head(t), fmt.Sprintf("a block from %d on", before),
			*c.StateBlockNumber)
	})
	s.It("RPC-SIM-19", "refuses a bundle that begins with the hash of a hint", func(t *suite.T) {
		target, follows := followable(t)
		later := change(makeSoonParams(t, patience), object{"body": follows,
			"inclusion": object{"block": hexNumber(head(t) + 5)}})
		// wait until the order can be followed; nothing else uses that block
		err := t.Eventually(t.Target.Budgets.Hint(), func() error {
			if call(t, key(t), "mev_sendBundle", later).Refused() {
				return errRefused
			}
			return nil
		})
		t.Ready(err, "follow an order")
		checkRefused(t, call(t, key(t), "mev_simBundle", change(change(makeSoonParams(t, patience),
			object{"body": follows}), noRefunds)))
		if receiptOf(t, target) != nil {
			t.Inconclusive("the order that is followed is on the chain already")
		}
	})
	s.It("RPC-SIM-24", "has the base fee that follows from the parent", func(t *suite.T) {
		seen, parent := readSeenBaseFee(t)
		want := eip1559.CalcBaseFee(params.MergedTestChainConfig, parent)
		t.Check(seen.Cmp(want) == 0, fmt.Sprintf("%s, after a parent's %s", want, parent.BaseFee), seen)
	})
	s.It("RPC-SIM-25", "takes a timeout of 31 for milliseconds", func(t *suite.T) {
		if !simulateSlowly(t, 30) {
			t.Inconclusive("what takes longer than 31 ms does not succeed within 30 s either")
		}
		t.Check(!simulateSlowly(t, 31), "no success of what takes longer than 31 ms", "success")
	})
	s.It("RPC-PRI-19", "does not send what pays nothing", func(t *suite.T) {
		requireBuilders(t)
		tx, from := sendUnpaid(t), head(t)
		waitForBlock(t, from+2)
		t.Check(len(listSent(t, tx)) == 0, "no builder to be sent it", listSent(t, tx))
	})
}

// describeLiteral adds specs about what the description says, judged at the literal instance.
func describeLiteral(s *suite.Set) {
	s.It("RPC-LIT-01", "answers errors as texts with a status", func(t *suite.T) {
		answer := call(t, key(t), "eth_sendBundle", object{})
		t.Check(answer.Status >= 400 && answer.Status <= 500, "a status from 400 to 500", answer)
		var message string
		err := json.Unmarshal(answer.Members["error"], &message)
		t.Check(err == nil && message != "", "error as a text", string(answer.Members["error"]))
	})
	s.It("RPC-LIT-01", "answers errors of V2 methods as JSON-RPC does", func(t *suite.T) {
		answer := call(t, key(t), "flashbots_getUserStatsV2", "x", "y", "z")
		t.Check(answer.Code() != 0, "an error object with a code", answer)
	})
	s.It("RPC-LIT-02", "needs blockNumber", func(t *suite.T) {
		good := bundle(t, newWallet(t).send(1))
		checkRefused(t, call(t, key(t), "eth_sendBundle", change(good, object{"blockNumber": nil})))
		t.Check(!call(t, key(t), "eth_sendBundle", good).Refused(), "the bundle with it to be taken", "refused")
	})
	s.It("RPC-LIT-03", "needs stateBlockNumber", func(t *suite.T) {
		w := newWallet(t)
		tx := w.send(1)
		checkRefused(t, call(t, key(t), "eth_callBundle", object{"txs": encodeTxs(t, tx),
			"blockNumber": hexNumber(head(t) + 1)}))
		simulate(t, nil, tx)
	})
	s.It("RPC-LIT-04", "needs both refunds", func(t *suite.T) {
		params := newestParams(t, newWallet(t).send(1))
		checkRefused(t, call(t, key(t), "mev_simBundle", params))
		for _, validity := range []object{{}, {"refund": []object{}}, {"refundConfig": []object{}}} {
			checkRefused(t, call(t, key(t), "mev_simBundle", change(params, object{"validity": validity})))
		}
		simulateWell(t, change(params, noRefunds))
	})
	s.It("RPC-LIT-05", "needs fast", func(t *suite.T) {
		tx := newWallet(t).send(1)
		checkRefused(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": object{}}))
		checkSent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": encodeTx(t, tx), "preferences": quiet}), tx)
	})
	s.It("RPC-LIT-06", "simulates what follows the hash of a hint", func(t *suite.T) {
		target, follows := followable(t)
		b := change(change(makeSoonParams(t, patience), object{"body": follows}), noRefunds)
		var answer *probe.RPCAnswer
		_ = t.Eventually(t.Target.Budgets.Hint(), func() error {
			if answer = call(t, key(t), "mev_simBundle", b); answer.Refused() {
				return errRefused
			}
			return nil
		})
		if receiptOf(t, target) != nil {
			t.Inconclusive("the order that is followed is on the chain already")
		}
		var m simulated
		readResult(t, answer, &m)
		t.Check(m.success(t), "success", string(m["error"]))
		for _, name := range []string{"gasUsed", "profit", "mevGasPrice", "refundableValue"} {
			if m[name] != nil {
				t.Check(readQuantity(t, m, name).Sign() == 0, name+" of 0x0: it tells of the order that is followed",
					string(m[name]))
			}
		}
	})
	s.It("RPC-LIT-07", "has the parent's base fee", func(t *suite.T) {
		seen, parent := readSeenBaseFee(t)
		t.Check(seen.Cmp(parent.BaseFee) == 0, "the parent's, "+parent.BaseFee.String(), seen)
	})
	s.It("RPC-LIT-08", "takes a timeout of 31 for seconds", func(t *suite.T) {
		t.Check(simulateSlowly(t, 31), "success of what takes less than 31 s", "none")
	})
	s.It("RPC-LIT-09", "gives 90 % back to the bundle's signer", func(t *suite.T) {
		signer, b := makeLiterallyFollowed(t)
		b.checkGets(t, signer, b.refund(90, 1))
		b.checkGets(t, b.owner.address(), new(big.Int))
	})
	s.It("RPC-LIT-10", "sends what pays nothing", func(t *suite.T) {
		requireBuilders(t)
		tx := sendUnpaid(t)
		err := t.Eventually(slots(t, 6), func() error {
			if len(listSent(t, tx)) == 0 {
				return errNotSent
			}
			return nil
		})
		t.Check(err == nil, "a builder to be sent it", err)
	})
	s.It("RPC-LIT-11", "does not list a refund at once", func(t *suite.T) {
		waitRefundsListed(t)
		signer, b := makeLiterallyFollowed(t)
		waitForBlock(t, uint64(b.at.Block)+2)
		for _, who := range []common.Address{signer, b.owner.address()} {
			list := listRecords(t, who)
			t.Check(len(list) == 0, "no record yet", list)
			checkZeros(t, askRefunds(t, "flashbots_getFeeRefundTotalsByRecipient", who.Hex()), "pending", "received")
		}
	})
}

// makeLiterallyFollowed is makeFollowed for a bundle whose signer it returns.
func makeLiterallyFollowed(t *suite.T) (signer common.Address, b *backrun) {
	requireBuilders(t)
	k := key(t)
	b = &backrun{owner: newWallet(t)}
	b.target = b.owner.send(1)
	order := change(makeSoonParams(t, patience), object{"body": body(t, b.target),
		"privacy": object{"hints": []string{"hash"}}})
	if answer := call(t, k, "mev_sendBundle", order); answer.Refused() {
		t.Inconclusive("the order is refused: %s", answer)
	}
	b.targetHash, b.tx = b.target.Hash(), newWallet(t).create(paysWei, codePayment)
	b.follow(t)
	b.land(t)
	return crypto.PubkeyToAddress(k.PublicKey), b
}
