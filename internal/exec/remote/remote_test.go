package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"pgregory.net/rapid"

	devchain "github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/internal/exec/remote"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

var (
	_ exec.Chain      = (*remote.Node)(nil)
	_ simulate.States = (*remote.Node)(nil)
)

const chainID = 4242

var (
	funded, _ = crypto.ToECDSA(crypto.Keccak256([]byte("remote test key")))
	sender    = crypto.PubkeyToAddress(funded.PublicKey)
)

// counter adds one to slot 0 at each call, logs the count with LOG0, and returns BLOCKHASH(number - 3) of its block.
var counter = common.FromHex("600160005401600055" + "600054600052" + "60206000a0" + "6003430340600052" + "60206000f3")

// chainOf is a real node with its JSON-RPC, and some blocks: counter is deployed and was called.
type chainOf struct {
	t       testing.TB
	node    *devchain.Node
	slot    phase0.Slot
	nonce   uint64
	counter common.Address
}

func newChain(t testing.TB, forks ...eth.ForkPoint) *chainOf {
	t.Helper()
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32, Forks: forks}
	node, err := devchain.Open(devchain.Config{Spec: spec, ChainID: chainID, Funded: []common.Address{sender}, RPCAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &chainOf{t: t, node: node}
	creation := append(common.FromHex(fmt.Sprintf("60%02x600c60003960%02x6000f3", len(counter), len(counter))), counter...)
	c.counter = crypto.CreateAddress(sender, 0)
	c.mine(c.tx(nil, 0, creation))
	for range 4 {
		c.mine(c.tx(&c.counter, 0, nil))
	}
	return c
}

// tx is the sender's next transaction.
func (c *chainOf) tx(to *common.Address, value int64, data []byte) *types.Transaction {
	c.t.Helper()
	tx, err := types.SignNewTx(funded, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: c.nonce, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei), Gas: 200_000,
		To: to, Value: big.NewInt(value), Data: data,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.nonce++
	return tx
}

func (c *chainOf) mine(txs ...*types.Transaction) *types.Block {
	c.t.Helper()
	return c.mineOn(phase0.Hash32(c.node.Chain().CurrentBlock().Hash()), txs...)
}

func (c *chainOf) mineOn(parent phase0.Hash32, txs ...*types.Transaction) *types.Block {
	c.t.Helper()
	c.slot++
	args := devchain.BuildArgs{
		Parent: parent, Slot: c.slot, Coinbase: common.Address{0xc0}, GasLimitTarget: 60_000_000, Transactions: txs, ParentBeaconRoot: phase0.Root{1},
	}
	built, err := c.node.Build(context.Background(), args)
	if err != nil {
		c.t.Fatal(err)
	}
	if built.Left > 0 {
		c.t.Fatalf("%d transactions were left out", built.Left)
	}
	if err := c.node.Import(context.Background(), built.Fork, built.Payload, nil, args.ParentBeaconRoot, built.Requests); err != nil {
		c.t.Fatal(err)
	}
	if err := c.node.SetHead(context.Background(), built.Hash()); err != nil {
		c.t.Fatal(err)
	}
	return built.Block
}

func open(t testing.TB, cfg remote.Config) *remote.Node {
	t.Helper()
	node, err := remote.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node
}

var (
	fulu  = eth.ForkPoint{Fork: eth.Fulu}
	every = []eth.ForkPoint{{Fork: eth.Bellatrix}}
)

// What is simulated on a state that is read over JSON-RPC is what is simulated on the chain itself, whatever the transactions.
func TestRemoteIsAsGoodAsLocal(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Bellatrix, eth.Capella, eth.Deneb, eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			c := newChain(t, eth.ForkPoint{Fork: fork})
			near := simulate.New(chain.NewStates(c.node.Chain()), simulate.Options{})
			far := simulate.New(open(t, remote.Config{URLs: []string{c.node.RPCURL()}}), simulate.Options{})
			next := c.nonce
			rapid.Check(t, func(r *rapid.T) {
				c.nonce = next
				env := exec.Environment{Latest: true}
				if rapid.Bool().Draw(r, "older") {
					env = exec.Environment{ParentNumber: rapid.Uint64Range(1, 5).Draw(r, "parent")}
					c.nonce = env.ParentNumber
				}
				var txs []exec.Tx
				for range rapid.IntRange(1, 4).Draw(r, "transactions") {
					to, data := &c.counter, []byte(nil)
					switch rapid.IntRange(0, 3).Draw(r, "kind") {
					case 0:
						to = &common.Address{rapid.Byte().Draw(r, "to")}
					case 1:
						to, data = nil, counter
					}
					txs = append(txs, exec.Tx{Transaction: c.tx(to, int64(rapid.IntRange(0, 3).Draw(r, "value")), data), From: sender})
				}
				want, wrong := near.Call(t.Context(), txs, env)
				got, err := far.Call(t.Context(), txs, env)
				if fmt.Sprint(err) != fmt.Sprint(wrong) || !reflect.DeepEqual(text(got), text(want)) {
					r.Fatalf("far %s, %v\nnear %s, %v", text(got), err, text(want), wrong)
				}
			})
		})
	}
}

func text(result *exec.CallResult) string {
	if result == nil {
		return "nothing"
	}
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Replaying a block of the chain over JSON-RPC gives its receipts.
func TestReplay(t *testing.T) {
	c := newChain(t, fulu)
	block := c.mine(c.tx(&c.counter, 0, nil), c.tx(&common.Address{9}, 7, nil))
	node := open(t, remote.Config{URLs: []string{c.node.RPCURL()}})
	read, err := node.Block(t.Context(), block.Hash())
	if err != nil || read.Hash() != block.Hash() {
		t.Fatal(err)
	}
	landing, err := simulate.New(node, simulate.Options{}).Replay(t.Context(), read)
	if err != nil {
		t.Fatal(err)
	}
	receipts := c.node.Chain().GetReceiptsByHash(block.Hash())
	for i, tx := range landing.Txs {
		if tx.GasUsed != receipts[i].GasUsed || len(tx.Logs) != len(receipts[i].Logs) || tx.CoinbaseDiffWei.Uint64() != tx.GasUsed*params.GWei {
			t.Errorf("transaction %d: gas %d, %d logs, paid %s", i, tx.GasUsed, len(tx.Logs), tx.CoinbaseDiffWei.Dec())
		}
	}
}

// proxy stands before a node and counts what is asked, or answers in its place.
type proxy struct {
	*httptest.Server
	asked  map[string]*atomic.Int64
	answer func(w http.ResponseWriter, method string, body []byte) bool // true if it answered
}

func before(t *testing.T, node string) *proxy {
	t.Helper()
	target, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	p := &proxy{asked: map[string]*atomic.Int64{}}
	for _, method := range []string{"eth_getProof", "eth_getStorageAt", "eth_getCode", "eth_getBalance"} {
		p.asked[method] = new(atomic.Int64)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		for method, count := range p.asked {
			count.Add(int64(bytes.Count(body, []byte(`"`+method+`"`))))
		}
		var call struct{ Method string }
		_ = json.Unmarshal(body, &call) // a batch has none
		if p.answer != nil && p.answer(w, call.Method, body) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Many simulations on one block ask for each account, slot and code once.
func TestEachIsAskedOnce(t *testing.T) {
	c := newChain(t, fulu)
	p := before(t, c.node.RPCURL())
	simulator := simulate.New(open(t, remote.Config{URLs: []string{p.URL}}), simulate.Options{})
	tx := exec.Tx{Transaction: c.tx(&c.counter, 0, nil), From: sender}
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := simulator.Call(t.Context(), []exec.Tx{tx}, exec.Environment{Latest: true})
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	accounts, slots := p.asked["eth_getProof"].Load(), p.asked["eth_getStorageAt"].Load()
	if accounts == 0 || slots == 0 {
		t.Fatalf("%d accounts, %d slots were asked for", accounts, slots)
	}
	if _, err := simulator.Call(t.Context(), []exec.Tx{tx}, exec.Environment{Latest: true}); err != nil {
		t.Error(err)
	}
	if p.asked["eth_getProof"].Load() != accounts || p.asked["eth_getStorageAt"].Load() != slots || p.asked["eth_getCode"].Load() > 3 {
		t.Errorf("asked again: %d and %d, code %d times", p.asked["eth_getProof"].Load(), p.asked["eth_getStorageAt"].Load(), p.asked["eth_getCode"].Load())
	}
}

// A node without proofs is asked for the parts of an account.
func TestNodeWithoutProofs(t *testing.T) {
	c := newChain(t, fulu)
	p := before(t, c.node.RPCURL())
	p.answer = func(w http.ResponseWriter, method string, _ []byte) bool {
		if method != "eth_getProof" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method eth_getProof does not exist"}}`)
		return true
	}
	// The id of the answer must be the question's.
	p.answer = withID(p.answer)
	simulator := simulate.New(open(t, remote.Config{URLs: []string{p.URL}}), simulate.Options{})
	near := simulate.New(chain.NewStates(c.node.Chain()), simulate.Options{})
	tx := exec.Tx{Transaction: c.tx(&c.counter, 0, nil), From: sender}
	got, err := simulator.Call(t.Context(), []exec.Tx{tx}, exec.Environment{Latest: true})
	if err != nil {
		t.Fatal(err)
	}
	want, err := near.Call(t.Context(), []exec.Tx{tx}, exec.Environment{Latest: true})
	if err != nil || text(got) != text(want) {
		t.Errorf("far %s\nnear %s %v", text(got), text(want), err)
	}
	if p.asked["eth_getBalance"].Load() == 0 {
		t.Error("no balance was asked for")
	}
}

// withID gives answers the id of their question.
func withID(answer func(http.ResponseWriter, string, []byte) bool) func(http.ResponseWriter, string, []byte) bool {
	return func(w http.ResponseWriter, method string, body []byte) bool {
		var call struct{ ID json.RawMessage }
		if json.Unmarshal(body, &call) != nil {
			return answer(w, method, body)
		}
		recorded := httptest.NewRecorder()
		if !answer(recorded, method, body) {
			return false
		}
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorded.Code)
		fmt.Fprint(w, strings.Replace(recorded.Body.String(), `"id":1`, `"id":`+string(call.ID), 1))
		return true
	}
}

// When the first node is away, hangs, is broken or is behind, the next one is asked; when all are, the error says which of it.
func TestFailOver(t *testing.T) {
	c := newChain(t, fulu)
	tx := exec.Tx{Transaction: c.tx(&c.counter, 0, nil), From: sender}
	head := c.node.Chain().CurrentBlock().Hash()
	say := func(status int, body string) func(http.ResponseWriter, string, []byte) bool {
		return withID(func(w http.ResponseWriter, _ string, _ []byte) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		})
	}
	for name, row := range map[string]struct {
		broken func(http.ResponseWriter, string, []byte) bool
		alone  error
	}{
		"500":       {say(500, "oh"), exec.ErrNode},
		"no JSON":   {say(200, "<html>"), exec.ErrNode},
		"nothing":   {say(200, `{"jsonrpc":"2.0","id":1,"result":null}`), exec.ErrUnknownBlock},
		"nonsense":  {say(200, `{"jsonrpc":"2.0","id":1,"result":[1]}`), exec.ErrNode},
		"behind":    {say(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}`), exec.ErrUnknownBlock},
		"hanging":   {nil, exec.ErrNode},
		"forbidden": {say(403, ""), exec.ErrNode},
	} {
		t.Run(name, func(t *testing.T) {
			p := before(t, c.node.RPCURL())
			if p.answer = row.broken; p.answer == nil {
				hang := make(chan struct{})
				defer close(hang)
				p.answer = func(http.ResponseWriter, string, []byte) bool { <-hang; return true }
			}
			config := c.node.Chain().Config()
			cfg := remote.Config{Chain: config, Timeout: 200 * time.Millisecond}
			cfg.URLs = []string{p.URL, c.node.RPCURL()}
			if _, err := simulate.New(open(t, cfg), simulate.Options{}).Call(t.Context(), []exec.Tx{tx}, exec.Environment{ParentHash: head}); err != nil {
				t.Errorf("with another node: %v", err)
			}
			cfg.URLs = []string{p.URL}
			_, err := simulate.New(open(t, cfg), simulate.Options{}).Call(t.Context(), []exec.Tx{tx}, exec.Environment{ParentHash: head})
			if !errors.Is(err, row.alone) {
				t.Errorf("alone: %v, want %v", err, row.alone)
			}
		})
	}
}

// A node that breaks in the middle of a simulation is no state with zeros.
func TestNodeBreaksInTheMiddle(t *testing.T) {
	c := newChain(t, fulu)
	for _, broken := range []string{"eth_getProof", "eth_getStorageAt", "eth_getCode"} {
		p := before(t, c.node.RPCURL())
		p.answer = func(w http.ResponseWriter, method string, _ []byte) bool {
			if method == broken {
				w.WriteHeader(http.StatusBadGateway)
			}
			return method == broken
		}
		simulator := simulate.New(open(t, remote.Config{URLs: []string{p.URL}}), simulate.Options{})
		tx := exec.Tx{Transaction: c.tx(&c.counter, 0, nil), From: sender}
		c.nonce--
		if got, err := simulator.Call(t.Context(), []exec.Tx{tx}, exec.Environment{Latest: true}); !errors.Is(err, exec.ErrNode) {
			t.Errorf("without %s: %s, %v", broken, text(got), err)
		}
	}
}

// The forks of an unknown network are what is in force on it.
func TestForksOfAnUnknownNetwork(t *testing.T) {
	for fork, want := range map[eth.Fork][4]bool{
		eth.Bellatrix: {}, eth.Capella: {true}, eth.Deneb: {true, true}, eth.Electra: {true, true, true}, eth.Fulu: {true, true, true, true},
	} {
		c := newChain(t, eth.ForkPoint{Fork: fork})
		config := open(t, remote.Config{URLs: []string{c.node.RPCURL()}}).Chain()
		number, now := big.NewInt(6), uint64(1_800_000_000)
		got := [4]bool{config.IsShanghai(number, now), config.IsCancun(number, now), config.IsPrague(number, now), config.IsOsaka(number, now)}
		if got != want || config.ChainID.Uint64() != chainID {
			t.Errorf("%s: %v of chain %s", fork, got, config.ChainID)
		}
	}
}

// Follow hands over every block once, parents first, and after a reorganisation the new branch.
func TestFollow(t *testing.T) {
	c := newChain(t, every...)
	polled := make(chan struct{}, 1000)
	p := before(t, c.node.RPCURL())
	p.answer = func(_ http.ResponseWriter, method string, _ []byte) bool {
		if method == "eth_getBlockByNumber" {
			select {
			case polled <- struct{}{}:
			default:
			}
		}
		return false
	}
	node := open(t, remote.Config{URLs: []string{p.URL}, Chain: c.node.Chain().Config(), PollEvery: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	blocks, done := make(chan *types.Block, 10), make(chan error, 1)
	go func() {
		done <- node.Follow(ctx, common.Hash{}, func(b *types.Block) error { blocks <- b; return nil })
	}()
	<-polled
	<-polled // the first answer was taken: from now on
	fork := c.node.Chain().CurrentBlock().Hash()
	expect := func(want *types.Block) {
		t.Helper()
		if got := <-blocks; got.Hash() != want.Hash() {
			t.Errorf("block %d %s, want %d %s", got.NumberU64(), got.Hash(), want.NumberU64(), want.Hash())
		}
	}
	one, two := c.mine(), c.mine()
	expect(one)
	expect(two)
	other := c.mineOn(phase0.Hash32(fork))
	next := c.mine()
	expect(other)
	expect(next)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Who names a block gets all after it, however long ago it was.
	ctx, stop = context.WithCancel(t.Context())
	go func() { done <- node.Follow(ctx, other.Hash(), func(b *types.Block) error { blocks <- b; return nil }) }()
	expect(next)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
