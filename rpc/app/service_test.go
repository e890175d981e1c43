package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/rpc/sign"
)

const chainID = 0x67766c

// service is a whole service on a real chain, with a builder that puts what it is sent into blocks.
type service struct {
	testing.TB
	node    *chain.Node
	spec    *eth.Spec
	slot    phase0.Slot
	app     *App
	url     string
	builder *builder
	facts   *factsSeen
	// marks counts the markers that idle has put among the facts, passed says that it has seen its
	// own.
	marks  int
	passed bool
}

// keys are accounts with money: 0 to 4 are for transactions, 9 is the builder's.
func accountKey(i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Append(nil, "rpc house key ", i)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// openChain is a chain of fulu in memory with one block.
func openChain(t testing.TB) *service {
	t.Helper()
	h := &service{TB: t, facts: newFactsSeen()}
	h.spec = &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu}},
	}
	funded := []common.Address{docsAccount}
	for i := range 10 {
		funded = append(funded, addressOf(accountKey(i)))
	}
	var err error
	h.node, err = chain.Open(chain.Config{Spec: h.spec, ChainID: chainID, Funded: funded, RPCAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.node.Close(); err != nil {
			t.Error(err)
		}
	})
	h.builder = newBuilder(t)
	h.mine()
	return h
}

// docsAccount has money for the examples of the documents. Everybody knows its key.
var docsAccount = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

// openService is a service that works with the execution node by URL; change may ask for something
// else.
func openService(t testing.TB, change func(*Config)) *service {
	t.Helper()
	h := openChain(t)
	h.serve(h.config(change))
	return h
}

// serve starts the service and ends it with the test.
func (s *service) serve(cfg Config) (stop func()) {
	s.Helper()
	app, err := New(s.Context(), cfg)
	if err != nil {
		s.Fatal(err)
	}
	server := httptest.NewServer(app.Handler())
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			server.Close()
			cancel()
			if err := <-done; err != nil {
				s.Error(err)
			}
			if err := app.Close(); err != nil {
				s.Error(err)
			}
		})
	}
	s.Cleanup(stop)
	s.app, s.url = app, server.URL
	return stop
}

func (s *service) config(change func(*Config)) Config {
	s.Helper()
	cfg := Config{
		Key: accountKey(8), Builders: []send.Builder{{Name: "default", URL: s.builder.url,
			APIs: []string{"eth_sendBundle", "cancel"}}},
		Observe: s.facts.record, Log: slog.New(slog.NewTextHandler(s.Output(), nil)),
	}
	s.connect(&cfg)
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// connect gives the service the chain in this process.
func (s *service) connect(cfg *Config) {
	states := execchain.NewStates(s.node.Chain())
	cfg.Chain, cfg.States, cfg.ChainConfig = states, states, s.node.Chain().Config()
}

// mine makes a block of what the builder was sent for it and of further transactions, and makes it
// the head.
func (s *service) mine(txs ...*types.Transaction) *types.Block {
	s.Helper()
	s.slot++
	head := s.node.Chain().CurrentBlock()
	bundles := s.builder.take(head.Number.Uint64() + 1)
	return s.mineOn(phase0.Hash32(head.Hash()), append(bundles, txs...)...)
}

// mineOn is mine on any parent, without what the builder was sent.
func (s *service) mineOn(parent phase0.Hash32, txs ...*types.Transaction) *types.Block {
	s.Helper()
	args := chain.BuildArgs{
		Parent: parent, Slot: s.slot, PrevRandao: [32]byte{byte(s.slot)}, ParentBeaconRoot: phase0.Root{byte(s.slot)},
		Coinbase: addressOf(accountKey(9)), GasLimitTarget: 60_000_000, Transactions: txs,
	}
	built, err := s.node.Build(s.Context(), args)
	if err != nil {
		s.Fatal(err)
	}
	var commitments []deneb.KZGCommitment
	if built.Blobs != nil {
		commitments = built.Blobs.Commitments
	}
	if err := s.node.Import(s.Context(), built.Fork, built.Payload, commitments, args.ParentBeaconRoot,
		built.Requests); err != nil {
		s.Fatal(err)
	}
	if err := s.node.SetHead(s.Context(), built.Hash()); err != nil {
		s.Fatal(err)
	}
	return built.Block
}

// next is the number of the next block.
func (s *service) next() uint64 { return s.node.Chain().CurrentBlock().Number.Uint64() + 1 }

// tx is a signed transfer that pays a tip of one gwei for each gas.
func (s *service) tx(key *ecdsa.PrivateKey, nonce uint64, to common.Address, valueWei int64) *types.Transaction {
	s.Helper()
	return s.signed(key, &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       21_000, To: &to, Value: big.NewInt(valueWei),
	})
}

func (s *service) signed(key *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	s.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), data)
	if err != nil {
		s.Fatal(err)
	}
	return tx
}

func rawOf(tx *types.Transaction) string {
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return hexutil.Encode(raw)
}

// answer is a JSON-RPC answer.
type answer struct {
	Status int
	Result json.RawMessage `json:"result"`
	Error  *answerError    `json:"error"`
}

type answerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// call sends a signed request.
func (s *service) call(key *ecdsa.PrivateKey, method string, params ...any) answer {
	s.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Flashbots-Signature", sign.Header(key, body))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	got := answer{Status: response.StatusCode}
	if err := json.Unmarshal(raw, &got); err == nil {
		return got
	}
	var legacy struct{ Error string } // the dialect of --literal
	if err := json.Unmarshal(raw, &legacy); err != nil {
		s.Fatalf("%s: %v: %s", method, err, raw)
	}
	got.Error = &answerError{Message: legacy.Error}
	return got
}

// want calls and reads the result, which must be one.
func (s *service) want(into any, key *ecdsa.PrivateKey, method string, params ...any) {
	s.Helper()
	got := s.call(key, method, params...)
	if got.Error != nil {
		s.Fatalf("%s: %d %s", method, got.Error.Code, got.Error.Message)
	}
	if err := json.Unmarshal(got.Result, into); err != nil {
		s.Fatalf("%s: %v: %s", method, err, got.Result)
	}
}

// refused calls and wants an error that begins so.
func (s *service) refused(refusal rpc.Refusal, key *ecdsa.PrivateKey, method string, params ...any) {
	s.Helper()
	got := s.call(key, method, params...)
	if got.Error == nil || got.Error.Code != jsonrpc.Forms[refusal.ID].Code && got.Error.Code != 0 ||
		!strings.HasPrefix(got.Error.Message, refusal.Short) {
		s.Errorf("%s: %+v %s, want %d %s", method, got.Error, got.Result, jsonrpc.Forms[refusal.ID].Code, refusal.Short)
	}
}

// builder takes bundles over JSON-RPC.
type builder struct {
	url string

	mu      sync.Mutex
	bundles map[uint64][]sent // by block
	got     chan sent
}

// sent is a bundle as it came.
type sent struct {
	Txs               []hexutil.Bytes `json:"txs"`
	BlockNumber       string          `json:"blockNumber"`
	ReplacementUUID   string          `json:"replacementUuid"`
	RevertingTxHashes []common.Hash   `json:"revertingTxHashes"`
	RefundPercent     int             `json:"refundPercent"`
	RefundRecipient   *common.Address `json:"refundRecipient"`
	RefundTxHashes    []common.Hash   `json:"refundTxHashes"`
	method, signature string
	body              []byte
}

func newBuilder(t testing.TB) *builder {
	b := &builder{bundles: map[uint64][]sent{}, got: make(chan sent, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params []sent          `json:"params"`
		}
		if err := json.Unmarshal(body, &request); err != nil || len(request.Params) != 1 {
			t.Errorf("the builder got %s: %v", body, err)
			return
		}
		s := request.Params[0]
		s.method, s.signature, s.body = request.Method, r.Header.Get("X-Flashbots-Signature"), body
		b.keep(s)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":null}`, request.ID)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *builder) keep(s sent) {
	b.mu.Lock()
	if number, err := strconv.ParseUint(strings.TrimPrefix(s.BlockNumber, "0x"), 16, 64); err == nil &&
		s.method == "eth_sendBundle" {
		b.bundles[number] = append(b.bundles[number], s)
	}
	b.mu.Unlock()
	b.got <- s
}

// forget has the builder lose what it has.
func (b *builder) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.bundles)
}

// take are the transactions of all bundles for a block.
func (b *builder) take(number uint64) []*types.Transaction {
	b.mu.Lock()
	defer b.mu.Unlock()
	var txs []*types.Transaction
	for _, s := range b.bundles[number] {
		for _, raw := range s.Txs {
			tx := new(types.Transaction)
			if err := tx.UnmarshalBinary(raw); err != nil {
				panic(err)
			}
			txs = append(txs, tx)
		}
	}
	return txs
}

// factsSeen keeps all facts, for tests that wait for one.
type factsSeen struct {
	mu   sync.Mutex
	all  []rpc.Fact
	more chan struct{}
}

func newFactsSeen() *factsSeen { return &factsSeen{more: make(chan struct{})} }

func (f *factsSeen) record(fact rpc.Fact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fact)
	close(f.more)
	f.more = make(chan struct{})
}

// reset forgets all facts.
func (f *factsSeen) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = nil
}

// wait returns the first fact, from the beginning on, that is the one.
func (f *factsSeen) wait(t testing.TB, what string, is func(rpc.Fact) bool) rpc.Fact {
	t.Helper()
	for seen := 0; ; {
		f.mu.Lock()
		all, more := f.all, f.more
		f.mu.Unlock()
		for ; seen < len(all); seen++ {
			if is(all[seen]) {
				return all[seen]
			}
		}
		select {
		case <-more:
		case <-time.After(20 * time.Second): // only when the test fails
			t.Fatalf("no %s; %d facts", what, seen)
		}
	}
}

// waitFor is wait for a fact of a type that fulfils a condition.
func waitFor[F rpc.Fact](h *service, what string, is func(F) bool) F {
	h.Helper()
	return h.facts.wait(h.TB, what, func(fact rpc.Fact) bool {
		f, ok := fact.(F)
		return ok && is(f)
	}).(F)
}

// waitForIndexed waits until the service has counted the newest block, and ended all orders that it
// has.
func (s *service) waitForIndexed() {
	s.Helper()
	head := s.node.Chain().CurrentBlock().Hash()
	there := map[common.Hash]bool{}
	for _, tx := range s.node.Chain().GetBlockByHash(head).Transactions() {
		there[tx.Hash()] = true
	}
	counted, in, open := false, map[uint64]bool{}, map[uint64]bool{}
	s.facts.wait(s, "count of the newest block", func(fact rpc.Fact) bool {
		switch f := fact.(type) {
		case rpc.OrderAccepted:
			for tx := range f.Order.Bundle.Transactions() {
				in[f.Order.ID] = in[f.Order.ID] || there[tx.Hash]
			}
			open[f.Order.ID] = in[f.Order.ID]
		case rpc.OrderReturned:
			open[f.ID] = in[f.ID]
		case rpc.OrderEnded:
			delete(open, f.ID)
		case rpc.BlockIndexed:
			counted = counted || f.Hash == head
		}
		for _, waits := range open {
			if waits {
				return false
			}
		}
		return counted
	})
}

func hexNumber(n uint64) string { return hexutil.EncodeUint64(n) }
