package simulate_test

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	goeth "github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/ethclient"
	gethnode "github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

const chainID = 1337

var (
	alice, bob = testKey("alice"), testKey("bob")
	nobody     = common.HexToAddress("0x00000000000000000000000000000000000a11ce")
)

// world is a chain behind a real node's JSON-RPC. Alice and Bob have money on it.
type world struct {
	testing.TB
	http, ws string
	client   *ethclient.Client
	// give has a transaction in the pool when the next block is made.
	give func(*types.Transaction) error
	// mine makes a block on the newest one with all transactions of the pool; fork makes one on
	// another parent the newest.
	mine func() *types.Block
	fork func(parent common.Hash) *types.Block
	// nonces are those of the next transactions that the world signs.
	nonces map[*ecdsa.PrivateKey]uint64
	// chain is the chain itself, beside its JSON-RPC.
	chain *core.BlockChain
}

// worlds are the nodes that every test runs against.
var worlds = map[string]func(testing.TB) *world{
	"go-ethereum":             newGeth,
	"devnet":                  func(t testing.TB) *world { return newDevnet(t, eth.Fulu) },
	"devnet, before eip-2935": func(t testing.TB) *world { return newDevnet(t, eth.Deneb) },
}

func inEveryWorld(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// newGeth is go-ethereum as its own simulated backend assembles it, but with its JSON-RPC on a port
// that the system chose.
func newGeth(t testing.TB) *world {
	t.Helper()
	config := *params.MergedTestChainConfig
	config.ChainID = big.NewInt(chainID)
	money := new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))
	alloc := core.SystemContractAllocs()
	alloc[addressOf(alice)], alloc[addressOf(bob)] = types.Account{Balance: money}, types.Account{Balance: money}
	cfg := ethconfig.Defaults
	cfg.Genesis = &core.Genesis{Config: &config, GasLimit: 30_000_000, Alloc: alloc}
	cfg.SyncMode, cfg.LogNoHistory, cfg.TxPool.NoLocals = ethconfig.FullSync, true, true

	stack, err := gethnode.New(&gethnode.Config{
		P2P: p2p.Config{NoDiscovery: true, NoDial: true}, HTTPHost: "127.0.0.1", HTTPModules: []string{"eth", "net", "web3"},
		WSHost: "127.0.0.1", WSModules: []string{"eth"}, WSOrigins: []string{"*"},
	})
	must(t, err)
	t.Cleanup(func() { must(t, stack.Close()) })
	backend, err := goeth.New(stack, &cfg)
	must(t, err)
	stack.RegisterAPIs([]rpc.API{
		{Namespace: "eth", Service: filters.NewFilterAPI(filters.NewFilterSystem(backend.APIBackend, filters.Config{}))}})
	must(t, stack.Start())
	beacon, err := catalyst.NewSimulatedBeacon(0, nobody, backend)
	must(t, err)
	t.Cleanup(func() { must(t, beacon.Stop()) })

	w := newWorld(t, stack.HTTPEndpoint(), stack.WSEndpoint())
	w.chain = backend.BlockChain()
	block := func(hash common.Hash) *types.Block {
		if hash == (common.Hash{}) {
			t.Fatal("no block was made")
		}
		return w.chain.GetBlockByHash(hash)
	}
	// The pool gets all transactions of a block at once. One by one, some would stay in its queue if
	// it follows a new head while it looks at them: with pending ones of the same sender before them,
	// it takes their nonces to be too high.
	var given []*types.Transaction
	w.give = func(tx *types.Transaction) error {
		given = append(given, tx)
		return nil
	}
	w.mine = func() *types.Block {
		must(t, errors.Join(backend.TxPool().Add(given, true)...))
		given = nil
		return block(beacon.Commit())
	}
	w.fork = func(parent common.Hash) *types.Block {
		must(t, beacon.Fork(parent))
		return w.mine()
	}
	must(t, beacon.Fork(w.chain.Genesis().Hash()))
	return w
}

// newDevnet is the devnet's chain with its JSON-RPC.
func newDevnet(t testing.TB, fork eth.Fork) *world {
	t.Helper()
	n, err := chain.Open(chain.Config{
		Spec: &eth.Spec{
			GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 2,
			Forks: []eth.ForkPoint{{Fork: fork}},
		},
		ChainID: chainID, Funded: []common.Address{addressOf(alice), addressOf(bob)}, RPCAddr: "127.0.0.1:0",
	})
	must(t, err)
	t.Cleanup(func() { must(t, n.Close()) })
	w := newWorld(t, n.RPCURL(), "ws"+strings.TrimPrefix(n.RPCURL(), "http"))
	w.chain = n.Chain()
	w.give = func(tx *types.Transaction) error { return w.client.SendTransaction(t.Context(), tx) }
	slot := phase0.Slot(0)
	w.fork = func(parent common.Hash) *types.Block {
		slot++
		must(t, n.SetHead(t.Context(), phase0.Hash32(n.Chain().CurrentBlock().Hash())))
		built, err := n.Build(t.Context(), chain.BuildArgs{
			Parent: phase0.Hash32(parent), Slot: slot, ParentBeaconRoot: phase0.Root{byte(slot)}, Coinbase: nobody,
			GasLimitTarget: 60_000_000,
			Withdrawals:    []*capella.Withdrawal{{Index: capella.WithdrawalIndex(slot), Amount: 7}}, Transactions: n.Pending(),
		})
		must(t, err)
		must(t, n.Import(t.Context(), built.Fork, built.Payload, nil, phase0.Root{byte(slot)}, built.Requests))
		must(t, n.SetHead(t.Context(), built.Hash()))
		return built.Block
	}
	w.mine = func() *types.Block { return w.fork(n.Chain().CurrentBlock().Hash()) }
	return w
}

func newWorld(t testing.TB, http, ws string) *world {
	t.Helper()
	client, err := ethclient.DialContext(t.Context(), http)
	must(t, err)
	t.Cleanup(client.Close)
	return &world{TB: t, http: http, ws: ws, client: client, nonces: map[*ecdsa.PrivateKey]uint64{}}
}

// sign signs a transaction; to is nil for a creation.
func (w *world) sign(from *ecdsa.PrivateKey, to *common.Address, valueWei int64, gas uint64,
	data []byte) *types.Transaction {
	w.Helper()
	tx, err := types.SignNewTx(from, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: w.nonces[from], GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       gas, To: to, Value: big.NewInt(valueWei), Data: data,
	})
	must(w, err)
	w.nonces[from]++
	return tx
}

// send signs a transaction and gives it to the node.
func (w *world) send(from *ecdsa.PrivateKey, to *common.Address, valueWei int64, gas uint64,
	data []byte) *types.Transaction {
	w.Helper()
	tx := w.sign(from, to, valueWei, gas, data)
	must(w, w.give(tx))
	return tx
}

// Contracts, in the machine's own words.
const (
	// SSTORE(0, SLOAD(0)+1); MSTORE(0, SLOAD(0)); SSTORE(TIMESTAMP, 7); LOG0(0, 32); RETURN(0, 32)
	countingContract = "600160005401600055" + "600054600052" + "60074255" + "60206000a0" + "60206000f3"
	// words 0 to 3: BLOCKHASH(NUMBER-1), BLOCKHASH(NUMBER-2), BLOCKHASH(NUMBER-10), PREVRANDAO
	witnessContract = "6001430340600052" + "6002430340602052" + "600a430340604052" + "44606052" + "60806000f3"
	// MSTORE(0, 42); REVERT(0, 32)
	revertingContract = "602a60005260206000fd"
	// EXTCODECOPY of 32 bytes of the address in the call's first word, and of its EXTCODESIZE; RETURN
	// both
	peeper = "602060006000600035" + "3c" + "6000353b602052" + "60406000f3"
)

// creation is the code that makes a contract of this code.
func creation(code string) []byte {
	runtime := common.FromHex(code)
	return append([]byte{0x61, byte(len(runtime) >> 8), byte(len(runtime)), 0x80, 0x60, 0x0c, 0x60, 0, 0x39, 0x60, 0,
		0xf3}, runtime...)
}

// deploy makes contracts and mines them.
func (w *world) deploy(codes ...string) []common.Address {
	w.Helper()
	var addresses []common.Address
	for _, code := range codes {
		tx := w.send(alice, nil, 0, 300_000, creation(code))
		addresses = append(addresses, crypto.CreateAddress(addressOf(alice), tx.Nonce()))
	}
	w.mine()
	for i, address := range addresses {
		code, err := w.client.CodeAt(w.Context(), address, nil)
		must(w, err)
		if !bytes.Equal(code, common.FromHex(codes[i])) {
			w.Fatalf("contract %d is not there: %x", i, code)
		}
	}
	return addresses
}

// states opens what is tested, with a client of the test's own if there is a transport.
func (w *world) states(transport http.RoundTripper, change ...func(*simulate.RemoteOptions)) *simulate.RemoteStates {
	w.Helper()
	options := simulate.RemoteOptions{URLs: []string{w.http}}
	if transport != nil {
		options.HTTP = &http.Client{Transport: transport}
	}
	for _, change := range change {
		change(&options)
	}
	return open(w, options)
}

func open(t testing.TB, options simulate.RemoteOptions) *simulate.RemoteStates {
	t.Helper()
	states, err := simulate.NewRemote(options)
	must(t, err)
	t.Cleanup(func() { must(t, states.Close()) })
	return states
}

// call is one JSON-RPC call on the wire.
type call struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (c call) String() string { return fmt.Sprintf("%s%s", c.Method, c.Params) }

// tap sits between us and a node. It sees every request, and may answer itself.
type tap struct {
	// refuse says with which code a call is refused; 0 lets it pass.
	refuse func(call) int

	mu       sync.Mutex // guards all below
	requests int
	calls    map[string]int
}

// RoundTrip implements http.RoundTripper.
func (p *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var calls []call
	if json.Unmarshal(body, &calls) != nil {
		calls = make([]call, 1)
		if err := json.Unmarshal(body, &calls[0]); err != nil {
			return nil, err
		}
	}
	p.note(calls)
	for _, c := range calls {
		if p.refuse == nil || p.refuse(c) == 0 {
			continue
		}
		answers := make([]string, len(calls))
		for i, c := range calls {
			answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, c.ID, p.refuse(c))
			if p.refuse(c) == 0 { // cannot be told without asking; nobody looks at it beside a refusal
				answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":null}`, c.ID)
			}
		}
		text := strings.Join(answers, ",")
		if len(calls) > 1 {
			text = "[" + text + "]"
		}
		return answer(http.StatusOK, text), nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(r)
}

func (p *tap) note(calls []call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if p.calls == nil {
		p.calls = map[string]int{}
	}
	for _, c := range calls {
		p.calls[c.String()]++
	}
}

// seen is how many requests there have been since it was asked last, and how often each call was
// made.
func (p *tap) seen() (requests int, calls map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests, calls = p.requests, p.calls
	p.requests, p.calls = 0, nil
	return requests, calls
}

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body))}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
