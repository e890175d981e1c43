package execution_test

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/gethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/execution"
	"github.com/gavel-relay/gavel/internal/eth"
)

const chainID = 77

// counter logs how often it was called, and returns it: SSTORE(0, SLOAD(0)+1); MSTORE(0, SLOAD(0)); LOG0(0, 32); RETURN(0, 32)
var counter = common.FromHex("6001600054016000556000546000" + "5260206000a060206000f3")

// network is a devnet chain behind its JSON-RPC, and a wallet with money on it.
type network struct {
	testing.TB
	url    string
	node   *chain.Node
	client *ethclient.Client
	key    *ecdsa.PrivateKey
	wallet common.Address
	slot   phase0.Slot
}

func newNetwork(t testing.TB) *network {
	t.Helper()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("execution test key")))
	must(t, err)
	n := &network{TB: t, key: key, wallet: crypto.PubkeyToAddress(key.PublicKey)}
	n.node, err = chain.Open(chain.Config{
		Spec: &eth.Spec{
			GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 2, Forks: []eth.ForkPoint{{Fork: eth.Fulu}},
		},
		ChainID: chainID, Funded: []common.Address{n.wallet},
	})
	must(t, err)
	t.Cleanup(func() { must(t, n.node.Close()) })
	handler, err := execution.New(n.node)
	must(t, err)
	t.Cleanup(handler.Close)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	n.url = server.URL
	n.client, err = ethclient.DialContext(t.Context(), n.url)
	must(t, err)
	t.Cleanup(n.client.Close)
	return n
}

// mine makes a block of the pool's transactions.
func (n *network) mine() *types.Block {
	n.Helper()
	n.slot++
	built, err := n.node.Build(n.Context(), chain.BuildArgs{
		Parent: phase0.Hash32(n.node.Chain().CurrentBlock().Hash()), Slot: n.slot, GasLimitTarget: 60_000_000, Transactions: n.node.Pending(),
		Withdrawals: []*capella.Withdrawal{{Index: capella.WithdrawalIndex(n.slot), Amount: 7}},
	})
	must(n, err)
	must(n, n.node.Import(n.Context(), built.Fork, built.Payload, nil, phase0.Root{}, built.Requests))
	must(n, n.node.SetHead(n.Context(), built.Hash()))
	return built.Block
}

// send does what a wallet does: it asks for nonce, fees and gas, signs, and sends.
func (n *network) send(to *common.Address, data []byte) *types.Transaction {
	n.Helper()
	ctx := n.Context()
	nonce, err := n.client.PendingNonceAt(ctx, n.wallet)
	must(n, err)
	tip, err := n.client.SuggestGasTipCap(ctx)
	must(n, err)
	price, err := n.client.SuggestGasPrice(ctx)
	must(n, err)
	gas, err := n.client.EstimateGas(ctx, ethereum.CallMsg{From: n.wallet, To: to, Data: data})
	must(n, err)
	id, err := n.client.ChainID(ctx)
	must(n, err)
	tx, err := types.SignNewTx(n.key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, GasTipCap: tip, GasFeeCap: new(big.Int).Add(price, price), Gas: gas * 2, To: to, Value: new(big.Int), Data: data,
	})
	must(n, err)
	must(n, n.client.SendTransaction(ctx, tx))
	return tx
}

// deploy makes the counter.
func (n *network) deploy() common.Address {
	n.Helper()
	tx := n.send(nil, append([]byte{0x60, byte(len(counter)), 0x80, 0x60, 0x0b, 0x60, 0, 0x39, 0x60, 0, 0xf3}, counter...))
	n.mine()
	return crypto.CreateAddress(n.wallet, tx.Nonce())
}

// A library does with the devnet what it does with any node.
func TestEthclient(t *testing.T) {
	n := newNetwork(t)
	ctx, client := t.Context(), n.client
	contract := n.deploy()
	tx := n.send(&contract, nil)
	if found, pending, err := client.TransactionByHash(ctx, tx.Hash()); err != nil || !pending || found.Hash() != tx.Hash() {
		t.Errorf("sent: %v, pending %v, %v", found, pending, err)
	}
	block := n.mine()

	if id, err := client.NetworkID(ctx); err != nil || id.Int64() != chainID {
		t.Errorf("network %s, %v", id, err)
	}
	if number, err := client.BlockNumber(ctx); err != nil || number != 2 {
		t.Errorf("block number %d, %v", number, err)
	}
	for _, ask := range []func() (*types.Block, error){
		func() (*types.Block, error) { return client.BlockByNumber(ctx, nil) },
		func() (*types.Block, error) { return client.BlockByNumber(ctx, block.Number()) },
		func() (*types.Block, error) { return client.BlockByHash(ctx, block.Hash()) },
	} {
		if got, err := ask(); err != nil || got.Hash() != block.Hash() || len(got.Transactions()) != 1 || len(got.Withdrawals()) != 1 {
			t.Errorf("block: %v, %v", got, err)
		}
	}
	if header, err := client.HeaderByNumber(ctx, big.NewInt(int64(rpc.EarliestBlockNumber))); err != nil || header.Number.Sign() != 0 {
		t.Errorf("earliest: %v, %v", header, err)
	}
	if got, pending, err := client.TransactionByHash(ctx, tx.Hash()); err != nil || pending || got.Hash() != tx.Hash() {
		t.Errorf("mined: %v, pending %v, %v", got, pending, err)
	}
	receipt, err := client.TransactionReceipt(ctx, tx.Hash())
	if err != nil || receipt.BlockHash != block.Hash() || receipt.Status != types.ReceiptStatusSuccessful || len(receipt.Logs) != 1 {
		t.Errorf("receipt: %+v, %v", receipt, err)
	}
	receipts, err := client.BlockReceipts(ctx, rpc.BlockNumberOrHashWithHash(block.Hash(), false))
	if err != nil || len(receipts) != 1 || receipts[0].TxHash != tx.Hash() {
		t.Errorf("receipts: %v, %v", receipts, err)
	}
	logs, err := client.FilterLogs(ctx, ethereum.FilterQuery{Addresses: []common.Address{contract}})
	if err != nil || len(logs) != 1 || logs[0].TxHash != tx.Hash() {
		t.Errorf("logs: %v, %v", logs, err)
	}
	if fees, err := client.FeeHistory(ctx, 2, nil, []float64{50}); err != nil || len(fees.BaseFee) != 3 || len(fees.Reward) != 2 {
		t.Errorf("fees: %+v, %v", fees, err)
	}
}

// State is told of the newest block, of a number, of a hash, and of what is pending.
func TestState(t *testing.T) {
	n := newNetwork(t)
	ctx, client := t.Context(), n.client
	contract := n.deploy()
	before := n.node.Chain().CurrentBlock()
	n.send(&contract, nil)
	block := n.mine()

	if balance, err := client.BalanceAt(ctx, n.wallet, nil); err != nil || balance.Sign() == 0 {
		t.Errorf("balance %s, %v", balance, err)
	}
	if nonce, err := client.NonceAt(ctx, n.wallet, before.Number); err != nil || nonce != 1 {
		t.Errorf("nonce %d, %v", nonce, err)
	}
	if nonce, err := client.NonceAtHash(ctx, n.wallet, block.Hash()); err != nil || nonce != 2 {
		t.Errorf("nonce %d, %v", nonce, err)
	}
	n.send(&contract, nil)
	if nonce, err := client.PendingNonceAt(ctx, n.wallet); err != nil || nonce != 3 {
		t.Errorf("pending nonce %d, %v", nonce, err)
	}
	if code, err := client.CodeAt(ctx, contract, nil); err != nil || !bytes.Equal(code, counter) {
		t.Errorf("code %x, %v", code, err)
	}
	if value, err := client.StorageAtHash(ctx, contract, common.Hash{}, block.Hash()); err != nil || value[31] != 1 {
		t.Errorf("slot %x, %v", value, err)
	}
	proof, err := gethclient.New(client.Client()).GetProof(ctx, contract, []string{"0x0"}, block.Number())
	if err != nil || len(proof.StorageProof) != 1 || proof.StorageProof[0].Value.Int64() != 1 || len(proof.AccountProof) == 0 {
		t.Errorf("proof %+v, %v", proof, err)
	}
	for at, want := range map[*big.Int]byte{nil: 2, before.Number: 1} {
		if got, err := client.CallContract(ctx, ethereum.CallMsg{To: &contract}, at); err != nil || got[31] != want {
			t.Errorf("call at %s returned %x, %v", at, got, err)
		}
	}
}

// What is not in any library's vocabulary, raw: tags, versions, the fork schedule. Nothing that belongs to the node's owner is there.
func TestRaw(t *testing.T) {
	n := newNetwork(t)
	n.mine()
	for _, row := range []struct {
		method string
		params []any
		want   string // begins with it
	}{
		{"eth_chainId", nil, `"0x4d"`},
		{"net_version", nil, `"77"`},
		{"web3_clientVersion", nil, `"gavel/`},
		{"web3_sha3", []any{"0x"}, `"0xc5d2460186f7`},
		{"eth_syncing", nil, `false`},
		{"eth_accounts", nil, `[]`},
		{"eth_getBalance", []any{common.Address{}, "latest"}, `"0x`},
		{"eth_getBalance", []any{common.Address{}, "pending"}, `"0x`},
		{"eth_getBalance", []any{common.Address{}, "earliest"}, `"0x0"`},
		{"eth_getBalance", []any{common.Address{}, map[string]any{"blockHash": n.node.Genesis().Hash(), "requireCanonical": true}}, `"0x0"`},
		{"eth_getBalance", []any{common.Address{}, "safe"}, `"0x0"`},
		{"eth_getBalance", []any{common.Address{}, "finalized"}, `"0x0"`},
		{"eth_getBlockByNumber", []any{"latest", true}, `{"baseFeePerGas"`},
		{"eth_getBlockTransactionCountByNumber", []any{"latest"}, `"0x0"`},
		{"eth_config", nil, `{"current":{"activationTime":0`},
	} {
		var got json.RawMessage
		if err := n.client.Client().CallContext(t.Context(), &got, row.method, row.params...); err != nil || !strings.HasPrefix(string(got), row.want) {
			t.Errorf("%s%v: %.80s, %v; want %s", row.method, row.params, got, err, row.want)
		}
	}
	modules, err := n.client.Client().SupportedModules()
	must(t, err)
	for name := range modules {
		if !slices.Contains([]string{"eth", "net", "web3", "rpc"}, name) {
			t.Errorf("the namespace %s is open to everybody", name)
		}
	}
}

// At the same address there are sockets, which tell of new blocks and logs.
func TestSubscriptions(t *testing.T) {
	n := newNetwork(t)
	contract := n.deploy()
	socket, err := ethclient.DialContext(t.Context(), "ws"+strings.TrimPrefix(n.url, "http"))
	must(t, err)
	defer socket.Close()
	heads, logs := make(chan *types.Header), make(chan types.Log)
	followed, err := socket.SubscribeNewHead(t.Context(), heads)
	must(t, err)
	defer followed.Unsubscribe()
	filtered, err := socket.SubscribeFilterLogs(t.Context(), ethereum.FilterQuery{Addresses: []common.Address{contract}}, logs)
	must(t, err)
	defer filtered.Unsubscribe()
	n.send(&contract, nil)
	block := n.mine()
	if head := <-heads; head.Hash() != block.Hash() {
		t.Errorf("told of block %s, want %s", head.Hash(), block.Hash())
	}
	if log := <-logs; log.BlockHash != block.Hash() || hexutil.Encode(log.Data[31:]) != "0x01" {
		t.Errorf("told of log %+v", log)
	}
}

// A wallet in a browser may ask from any page.
func TestPagesMayAsk(t *testing.T) {
	n := newNetwork(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, n.url, nil)
	must(t, err)
	r.Header.Set("Origin", "https://wallet.example")
	r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	r.Header.Set("Access-Control-Request-Headers", "content-type")
	got, err := http.DefaultClient.Do(r)
	must(t, err)
	must(t, got.Body.Close())
	if got.Header.Get("Access-Control-Allow-Origin") != "*" || got.StatusCode >= 300 {
		t.Errorf("status %d, %v", got.StatusCode, got.Header)
	}
}

// The pool refuses what cannot be included, and says why.
func TestPoolRefuses(t *testing.T) {
	n := newNetwork(t)
	poor, err := crypto.ToECDSA(crypto.Keccak256([]byte("nobody gave me anything")))
	must(t, err)
	tx, err := types.SignNewTx(poor, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(params.GWei), Gas: 21_000, To: &n.wallet,
	})
	must(t, err)
	if err := n.client.SendTransaction(t.Context(), tx); err == nil || !strings.Contains(err.Error(), "insufficient funds") {
		t.Errorf("got %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
