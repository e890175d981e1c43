//go:build clients

package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// client is a JavaScript client that searchers use, under Node.js: make test-clients installs them
// as their registry has them. It is driven in steps over its standard input and output
// (testdata/clients/steps.mjs).
type client struct {
	*service
	steps   *json.Encoder
	answers *bufio.Scanner
}

// object is what JavaScript calls so.
type object = map[string]any

// runClient starts the client of a folder; it signs with key 7.
func (h *service) runClient(folder string) *client {
	h.Helper()
	connection, err := json.Marshal(object{
		"url": h.url, "execution": h.node.RPCURL(), "key": hexutil.Encode(crypto.FromECDSA(accountKey(7))),
		"chainId": chainID,
	})
	if err != nil {
		h.Fatal(err)
	}
	node := exec.CommandContext(context.WithoutCancel(h.Context()), "node", "client.mjs") // ends with its input
	node.Dir = filepath.Join("testdata", "clients", folder)
	node.Env = append(os.Environ(), "GAVEL_TEST="+string(connection))
	var complaints bytes.Buffer
	node.Stderr = &complaints
	in, err := node.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := node.Start(); err != nil {
		h.Fatalf("%v; Node.js is needed", err)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	h.Cleanup(func() { endClient(h.TB, node, in, &complaints) })
	return &client{service: h, steps: json.NewEncoder(in), answers: answers}
}

// endClient ends the client's input, and with it the client; after a failure it may be in the
// middle of a step, and is killed.
func endClient(t testing.TB, node *exec.Cmd, in io.Closer, complaints *bytes.Buffer) {
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		if err := node.Process.Kill(); err != nil {
			t.Log(err)
		}
	}
	if err := node.Wait(); err != nil || t.Failed() {
		t.Errorf("the client ended with %v and said:\n%s", err, complaints)
	}
}

// thrown is an error as the client's caller sees it.
type thrown struct {
	Name, Message string
	Body          json.RawMessage // of the answer, where the client keeps it
}

// step has the client do something; what came of it goes into result, unless the client threw.
func (c *client) step(result any, name string, args object) *thrown {
	c.Helper()
	if err := c.steps.Encode(object{"step": name, "args": args}); err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	if !c.answers.Scan() {
		c.Fatalf("%s: no answer: %v", name, c.answers.Err())
	}
	var answer struct {
		Result json.RawMessage
		Thrown *thrown
	}
	if err := json.Unmarshal(c.answers.Bytes(), &answer); err != nil {
		c.Fatalf("%s: %v: %s", name, err, c.answers.Bytes())
	}
	if answer.Thrown != nil || answer.Result == nil { // undefined is left out
		return answer.Thrown
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		c.Fatalf("%s: %v: %s", name, err, answer.Result)
	}
	return nil
}

// do is a step in which the client may not throw.
func (c *client) do(result any, name string, args object) {
	c.Helper()
	if got := c.step(result, name, args); got != nil {
		c.Fatalf("%s threw %s: %s %s", name, got.Name, got.Message, got.Body)
	}
}

// same compares what a client made of an answer with JSON, in which the order of keys does not
// matter.
func same(t testing.TB, what string, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(wanted)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%s:\n got %s\nwant %s %v %v", what, a, b, errA, errB)
	}
}

// reverting creates a contract, which fails: PUSH0 PUSH0 REVERT.
func (h *service) reverting(nonce uint64) *types.Transaction {
	h.Helper()
	return h.signed(accountKey(0), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei), Gas: 100_000,
		Data: []byte{0x5f, 0x5f, 0xfd},
	})
}

// offer is what the builder is sent next.
func (h *service) offer() sent {
	h.Helper()
	select {
	case got := <-h.builder.got:
		return got
	case <-time.After(20 * time.Second): // only when the test fails
		h.Fatal("the builder gets nothing")
		return sent{}
	}
}

// The client for ethers simulates a bundle, sends it, waits until it is in a block, and reads the
// statistics.
func TestClientsEthersBundle(t *testing.T) {
	h := openService(t, nil)
	c := h.runClient("ethers")
	a, b := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{2}, 6)
	txs, block, hash := []string{rawOf(a), rawOf(b)}, h.next(), crypto.Keccak256Hash(a.Hash().Bytes(),
		b.Hash().Bytes()).Hex()

	var own string
	c.do(&own, "hash", object{"txs": txs})
	if own != hash {
		t.Errorf("the client's hash is %s, ours %s", own, hash)
	}
	var simulation any
	c.do(&simulation, "simulate", object{"txs": txs, "block": block})
	one := `{"coinbaseDiff":"21000000000000","ethSentToCoinbase":"0","fromAddress":%q,"gasFees":"21000000000000","gasPrice":"1000000000",
		"gasUsed":21000,"toAddress":%q,"txHash":%q,"value":"0x"}`
	same(t, "simulation", simulation,
		fmt.Sprintf(`{"bundleGasPrice":"1000000000","bundleHash":%q,"coinbaseDiff":"42000000000000",
		"ethSentToCoinbase":"0","gasFees":"42000000000000","results":[`+one+`,`+one+
			`],"stateBlockNumber":1,"totalGasUsed":42000}`, hash,
			addressOf(accountKey(0)), common.Address{1}, a.Hash(), addressOf(accountKey(1)), common.Address{2}, b.Hash()))

	var sent taken
	c.do(&sent, "sendBundle", object{"txs": txs, "block": block})
	if sent.BundleHash.Hex() != hash {
		t.Fatalf("sent %+v, want %s", sent, hash)
	}
	if got := h.offer(); got.method != "eth_sendBundle" || len(got.Txs) != 2 || got.BlockNumber != hexNumber(block) {
		t.Errorf("the builder got %s", got.body)
	}
	h.mine()
	h.waitForIndexed()
	var end string
	c.do(&end, "bundleEnd", object{"hash": hash})
	var receipts []struct {
		TransactionHash string
		Status          int
	}
	c.do(&receipts, "receipts", object{"hash": hash})
	if end != "BundleIncluded" || len(receipts) != 2 || receipts[1].TransactionHash != b.Hash().Hex() ||
		receipts[1].Status != 1 {
		t.Errorf("end %s, receipts %+v", end, receipts)
	}

	var stats struct {
		IsSimulated, IsHighPriority                bool
		ReceivedAt, SimulatedAt                    string
		ConsideredByBuildersAt, SealedByBuildersAt []struct{ Pubkey, Timestamp string }
	}
	c.do(&stats, "bundleStats", object{"hash": hash, "block": block})
	if !stats.IsSimulated || !stats.IsHighPriority || stats.ReceivedAt == "" || stats.SimulatedAt == "" ||
		len(stats.ConsideredByBuildersAt) != 1 || stats.ConsideredByBuildersAt[0].Pubkey != "default" ||
		len(stats.SealedByBuildersAt) != 1 {
		t.Errorf("statistics of the bundle %+v", stats)
	}
	var user any
	c.do(&user, "userStats", nil) // each transaction was simulated twice: for its signer, and before it was sent
	same(t, "statistics of the signer", user,
		`{"isHighPriority":true,"allTimeValidatorPayments":"42000000000000","allTimeGasSimulated":"84000",
		"last7dValidatorPayments":"42000000000000","last7dGasSimulated":"84000","last1dValidatorPayments":"42000000000000",
		"last1dGasSimulated":"84000"}`)

	// It finds out who was quicker by how the error begins.
	var late struct{ Error struct{ Message string } }
	c.do(&late, "simulate", object{"txs": txs, "block": h.next()})
	if !strings.HasPrefix(late.Error.Message, "err: nonce too low:") {
		t.Errorf("simulated again: %+v", late)
	}
}

// A bundle that was cancelled by its replacementUuid passes its block, and the answer to the cancel
// holds no hashes.
func TestClientsEthersCancelBundle(t *testing.T) {
	h := openService(t, nil)
	c, uuid, block := h.runClient("ethers"), "e9ced844-16d5-4884-8507-db9338950c5c", h.next()
	var sent taken
	c.do(&sent, "sendBundle", object{
		"txs": []string{rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5))}, "block": block,
		"options": object{"replacementUuid": uuid},
	})
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Hash == sent.BundleHash })
	offered := h.offer()
	var cancelled any
	c.do(&cancelled, "cancelBundles", object{"uuid": uuid})
	same(t, "cancelled", cancelled, `{"bundleHashes":null}`)
	if told := h.offer(); told.method != "eth_cancelBundle" || told.ReplacementUUID != offered.ReplacementUUID {
		t.Errorf("the builder got %s", told.body)
	}
	h.builder.forget()
	h.mine()
	var end string
	c.do(&end, "bundleEnd", object{"hash": sent.BundleHash})
	if end != "BlockPassedWithoutInclusion" {
		t.Errorf("end %s", end)
	}
}

// One private transaction lands, another is cancelled.
func TestClientsEthersPrivateTransaction(t *testing.T) {
	h := openService(t, nil)
	c := h.runClient("ethers")
	lands, stays := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{1}, 5)
	send := func(tx *types.Transaction) {
		var sent struct{ Transaction struct{ Hash string } }
		c.do(&sent, "sendTransaction", object{"tx": rawOf(tx), "options": object{"maxBlockNumber": h.next() + 5}})
		if sent.Transaction.Hash != tx.Hash().Hex() {
			t.Fatalf("sent %+v, want %s", sent, tx.Hash())
		}
		if got := h.offer(); len(got.Txs) != 1 || hexutil.Encode(got.Txs[0]) != rawOf(tx) {
			t.Errorf("the builder got %s", got.body)
		}
	}
	send(lands)
	h.mine()
	h.waitForIndexed()
	var end string
	c.do(&end, "transactionEnd", object{"hash": lands.Hash()})
	if end != "TransactionIncluded" {
		t.Errorf("end %s", end)
	}
	send(stays)
	var cancelled bool
	c.do(&cancelled, "cancelTransaction", object{"hash": stays.Hash()})
	if !cancelled {
		t.Error("not cancelled")
	}
	waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == stays.Hash() && f.State == rpc.Cancelled })
}

// The caller of the client sees what failed in a simulation, and our words where we refuse.
func TestClientsEthersFailures(t *testing.T) {
	h := openService(t, nil)
	c, block := h.runClient("ethers"), h.next()
	var simulation struct {
		FirstRevert struct{ TxHash, Error string }
	}
	c.do(&simulation, "simulate", object{"txs": []string{rawOf(h.reverting(0))}, "block": block})
	if simulation.FirstRevert.Error != "execution reverted" ||
		simulation.FirstRevert.TxHash != h.reverting(0).Hash().Hex() {
		t.Errorf("a reverting transaction: %+v", simulation)
	}
	for _, no := range []struct {
		step    string
		args    object
		refusal rpc.Refusal
	}{
		{"simulate", object{"txs": []string{}, "block": block}, rpc.BundleEmpty},
		{"simulate", object{"txs": []string{rawOf(h.tx(accountKey(0), 1, common.Address{1}, 5))}, "block": block},
			rpc.SimulationFailed},
		{"sendBundle", object{"txs": []string{"0x01"}, "block": block}, rpc.BundleUndecodable},
		{"sendTransaction", object{"tx": "0x01"}, rpc.BundleUndecodable},
		{"bundleStats", object{"hash": common.Hash{1}, "block": block + 100}, rpc.StatsTooOld},
		{"cancelBundles", object{"uuid": "me"}, rpc.InvalidParams},
		{"cancelTransaction", object{"hash": "0x12"}, rpc.InvalidParams},
	} {
		var got struct {
			Error struct {
				Code    int
				Message string
			}
		}
		c.do(&got, no.step, no.args)
		if got.Error.Code != jsonrpc.Forms[no.refusal.ID].Code || !strings.HasPrefix(got.Error.Message, no.refusal.Short) {
			t.Errorf("%s %v: %+v, want %d %s", no.step, no.args, got.Error, jsonrpc.Forms[no.refusal.ID].Code, no.refusal.Short)
		}
	}
	// Who did not sign is told with a status, at which this client throws; the answer is in what it
	// throws.
	for signature, refusal := range map[string]rpc.Refusal{
		"nobody:0x": rpc.SignatureMalformed,
		addressOf(accountKey(7)).Hex() + ":0x" + strings.Repeat("11", 64) + "1b": rpc.SignatureMismatch,
	} {
		got := c.step(new(any), "forge", object{"tx": "0x01", "signature": signature})
		if got == nil || !strings.Contains(string(got.Body), refusal.Short) {
			t.Errorf("signed with %s: %+v, want %s", signature, got, refusal.Short)
		}
	}
}

// The MEV-Share client sends a bundle with terms, which lands.
func TestClientsMEVShareBundle(t *testing.T) {
	h := openService(t, nil)
	c, block := h.runClient("mev-share"), h.next()
	a, b := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{2}, 6)
	elements := []object{{"tx": rawOf(a), "canRevert": false}, {"tx": rawOf(b), "canRevert": true}}
	bundle := object{"inclusion": object{"block": block, "maxBlock": block + 3}, "body": elements}

	var simulation any
	c.do(&simulation, "simulateBundle",
		object{"bundle": bundle, "options": object{"parentBlock": block - 1, "timeout": 5}})
	same(t, "simulation", simulation, `{"success":true,"stateBlock":1,"mevGasPrice":"1000000000","profit":"42000000000000",
		"refundableValue":"42000000000000","gasUsed":"42000","logs":[{},{}]}`)

	var sent taken
	c.do(&sent, "sendBundle", object{"bundle": bundle})
	if want := crypto.Keccak256Hash(a.Hash().Bytes(), b.Hash().Bytes()); sent.BundleHash != want {
		t.Fatalf("sent %+v, want %s", sent, want)
	}
	if got := h.offer(); len(got.Txs) != 2 || got.BlockNumber != hexNumber(block) || len(got.RevertingTxHashes) != 1 {
		t.Errorf("the builder got %s", got.body)
	}
	if n := len(h.mine().Transactions()); n != 2 {
		t.Errorf("%d transactions in the block", n)
	}
	waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == sent.BundleHash && f.State == rpc.Landed })

	inner, outer := h.tx(accountKey(2), 0, common.Address{3}, 7), h.tx(accountKey(0), 1, common.Address{1}, 5)
	within := object{"inclusion": object{"block": h.next()}, "body": []object{{"tx": rawOf(inner), "canRevert": false}}}
	c.do(&sent, "sendBundle", object{"bundle": object{
		"inclusion": object{"block": h.next()},
		"body":      []object{{"bundle": within}, {"tx": rawOf(outer), "canRevert": false}},
		"validity": object{
			"refund":       []object{{"bodyIdx": 0, "percent": 90}},
			"refundConfig": []object{{"address": common.Address{1}, "percent": 100}},
		},
		"privacy": object{"hints": object{"calldata": true, "txHash": true}, "builders": []string{"flashbots"}},
	}})
	if want := crypto.Keccak256Hash(inner.Hash().Bytes(), outer.Hash().Bytes()); sent.BundleHash != want {
		t.Errorf("a bundle in a bundle: %+v, want %s", sent, want)
	}
}

// A private transaction with all its wishes is known by its hash, and lands.
func TestClientsMEVSharePrivateTransaction(t *testing.T) {
	h := openService(t, nil)
	c, tx := h.runClient("mev-share"), h.tx(accountKey(0), 0, common.Address{1}, 5)
	hints := object{"calldata": true, "logs": true, "contractAddress": true, "functionSelector": true, "defaultLogs": true,
		"txHash": true}
	var hash common.Hash
	c.do(&hash, "sendTransaction", object{
		"tx": rawOf(tx), "options": object{"hints": hints, "maxBlockNumber": h.next() + 10,
			"builders": []string{"flashbots"}},
	})
	if hash != tx.Hash() {
		t.Fatalf("hash %s, want %s", hash, tx.Hash())
	}
	if got := h.offer(); len(got.Txs) != 1 || hexutil.Encode(got.Txs[0]) != rawOf(tx) {
		t.Errorf("the builder got %s", got.body)
	}
	h.mine()
	waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == hash && f.State == rpc.Landed })
}

// A bundle that fails is a result; what we refuse is the client's own kind of error, with our
// words.
func TestClientsMEVShareFailures(t *testing.T) {
	h := openService(t, nil)
	c, inclusion := h.runClient("mev-share"), object{"block": h.next()}
	tx := object{"tx": rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5)), "canRevert": false}
	var simulation any
	c.do(&simulation, "simulateBundle", object{"bundle": object{
		"inclusion": inclusion, "body": []object{{"tx": rawOf(h.reverting(0)), "canRevert": false}},
	}})
	same(t, "simulation", simulation,
		`{"success":false,"error":"tx failed","stateBlock":1,"mevGasPrice":"0","profit":"0","refundableValue":"0",
		"gasUsed":"0"}`)
	after99 := object{"bundle": object{"inclusion": inclusion, "body": []object{tx}}, "options": object{"parentBlock": 99}}
	for _, no := range []struct {
		step    string
		args    object
		refusal rpc.Refusal
	}{
		{"sendBundle", object{"bundle": object{"inclusion": inclusion, "body": []object{{"hash": common.Hash{1}}, tx}}},
			rpc.BackrunNotFound},
		{"sendBundle", object{"bundle": object{"inclusion": inclusion, "body": []object{}}}, rpc.InvalidBodySize},
		{"sendBundle", object{"bundle": object{"inclusion": object{"block": 100}, "body": []object{tx}}},
			rpc.InvalidInclusion},
		{"sendBundle", object{"bundle": object{"version": "v9", "inclusion": inclusion, "body": []object{tx}}},
			rpc.BundleVersion},
		{"sendTransaction", object{"tx": "0x01"}, rpc.BundleUndecodable},
		{"simulateBundle", after99, rpc.HeaderNotFound},
	} {
		got := c.step(new(any), no.step, no.args)
		if got == nil || got.Name != fmt.Sprint("JsonRpcError: ", jsonrpc.Forms[no.refusal.ID].Code) ||
			!strings.HasPrefix(got.Message, no.refusal.Short) {
			t.Errorf("%s %v: %+v, want %d %s", no.step, no.args, got, jsonrpc.Forms[no.refusal.ID].Code, no.refusal.Short)
		}
	}
}
