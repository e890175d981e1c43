package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

const (
	flowChain = 99
	flowSlot  = 3 * time.Second
	// flowSigners ask at this pace each.
	flowSigners = 4
	flowPace    = time.Second
	// flowBundles is how many bundles may land; each has the only transaction of an account.
	flowBundles = 200
	// flowWire is how long a request may be on its way to the builder (wall time).
	flowWire = time.Second
)

// promise is what a signer was answered of an order.
type promise struct {
	id        common.Hash // of the order: a bundle's is not its transaction's
	taken     bool
	cancelled time.Time // when the answer to a cancel had come
	unsure    bool      // a cancel was not answered
	lands     bool      // it is a bundle with a refund, which blocks take
}

// orderFlow is a chain with a builder, signers and listeners around a cluster.
type orderFlow struct {
	*testing.T

	node         *chain.Node
	genesis      time.Time
	buildersFile string
	answered     atomic.Int64
	numbers      atomic.Int64
	stop         context.CancelFunc
	parts        sync.WaitGroup // signers and blocks
	heard        [2]*listening

	mu       sync.Mutex // guards what follows
	promises map[common.Hash]*promise
	bundles  map[uint64]map[common.Hash]*types.Transaction // that blocks take
}

func newOrderFlow(t *testing.T) *orderFlow {
	t.Helper()
	f := &orderFlow{T: t, genesis: time.Now().Truncate(time.Second), promises: map[common.Hash]*promise{},
		bundles: map[uint64]map[common.Hash]*types.Transaction{}}
	var funded []common.Address
	for i := range flowBundles + 1 {
		funded = append(funded, crypto.PubkeyToAddress(flowKey(i).PublicKey))
	}
	var err error
	if f.node, err = chain.Open(chain.Config{
		Spec: &eth.Spec{GenesisTime: f.genesis, SlotDuration: flowSlot, SlotsPerEpoch: 8,
			Forks: []eth.ForkPoint{{Fork: eth.Fulu}}},
		ChainID: flowChain, Funded: funded, RPCAddr: "127.0.0.1:0",
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.node.Close() })
	builder := httptest.NewServer(http.HandlerFunc(f.build))
	t.Cleanup(builder.Close)
	f.buildersFile = written(t, "builders.yaml",
		"- name: default\n  url: "+builder.URL+"\n  apis: [eth_sendBundle, cancel]\n")
	f.mine()
	return f
}

// flowKey is the key of an account with money. Orders of account 0 exclude each other, and no block
// takes one.
func flowKey(i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Append(nil, "cluster key ", i)))
	if err != nil {
		panic(err)
	}
	return key
}

func (f *orderFlow) tx(key *ecdsa.PrivateKey, valueWei int64) (tx *types.Transaction, raw string) {
	tx = types.MustSignNewTx(key, types.LatestSignerForChainID(big.NewInt(flowChain)), &types.DynamicFeeTx{
		ChainID: big.NewInt(flowChain), To: &common.Address{1}, Gas: 21_000, GasTipCap: big.NewInt(1e9),
		GasFeeCap: big.NewInt(1e11), Value: big.NewInt(valueWei),
	})
	encoded, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return tx, hexutil.Encode(encoded)
}

// build is the builder: it notes what it gets, and when.
func (f *orderFlow) build(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params []struct {
			Txs         []hexutil.Bytes `json:"txs"`
			BlockNumber string          `json:"blockNumber"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return // its sender was killed while it wrote
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, bundle := range request.Params {
		number, _ := hexutil.DecodeUint64(bundle.BlockNumber)
		for _, raw := range bundle.Txs {
			tx := new(types.Transaction)
			if err := tx.UnmarshalBinary(raw); err != nil {
				f.Errorf("the builder got %s: %v", raw, err)
				continue
			}
			one := f.promises[tx.Hash()]
			if one == nil {
				f.Errorf("the builder got %s, which nobody has sent", tx.Hash())
				continue
			}
			if !one.cancelled.IsZero() && at.After(one.cancelled.Add(flowWire)) {
				f.Errorf("order %s was sent %s after the answer to its cancel", tx.Hash(), at.Sub(one.cancelled))
			}
			if one.lands {
				if f.bundles[number] == nil {
					f.bundles[number] = map[common.Hash]*types.Transaction{}
				}
				f.bundles[number][tx.Hash()] = tx
			}
		}
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":null}`, request.ID)
}

// mine makes the next block, of the bundles that the builder has for it.
func (f *orderFlow) mine() {
	head := f.node.Chain().CurrentBlock()
	f.mu.Lock()
	var txs []*types.Transaction
	for _, tx := range f.bundles[head.Number.Uint64()+1] {
		txs = append(txs, tx)
	}
	f.mu.Unlock()
	slot := phase0.Slot(max(time.Since(f.genesis)/flowSlot, time.Duration(head.Time-uint64(f.genesis.Unix()))*time.Second/
		flowSlot+1))
	args := chain.BuildArgs{
		Parent: phase0.Hash32(head.Hash()), Slot: slot, PrevRandao: [32]byte{byte(slot)}, ParentBeaconRoot: phase0.Root{1},
		Coinbase: common.Address{0xbb}, GasLimitTarget: 60_000_000, Transactions: txs,
	}
	built, err := f.node.Build(context.WithoutCancel(f.Context()), args)
	if err == nil {
		var commitments []deneb.KZGCommitment
		err = f.node.Import(context.WithoutCancel(f.Context()), built.Fork, built.Payload, commitments, args.ParentBeaconRoot,
			built.Requests)
	}
	if err == nil {
		err = f.node.SetHead(context.WithoutCancel(f.Context()), built.Hash())
	}
	if err != nil {
		f.Error(err)
	}
}

// begin starts blocks, signers and listeners.
func (f *orderFlow) begin(c *cluster) {
	ctx, stop := context.WithCancel(f.Context())
	f.stop = stop
	f.parts.Go(func() { every(ctx, flowSlot, f.mine) })
	for signer := range flowSigners {
		turn := signer
		f.parts.Go(func() {
			every(ctx, flowPace, func() {
				turn++
				f.sign(ctx, c.rpcs[turn%2], c.rpcs[turn/2%2])
			})
		})
	}
	for i := range f.heard {
		f.heard[i] = listen(f.T, c.streams, i)
	}
}

// every does something again and again until the context ends.
func every(ctx context.Context, pace time.Duration, do func()) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// sign sends an order to one instance, and may cancel it at another one.
func (f *orderFlow) sign(ctx context.Context, at, other *process) {
	number := int(f.numbers.Add(1))
	one := &promise{lands: number%4 == 0 && number/4 <= flowBundles}
	tx, raw := f.tx(flowKey(0), int64(number))
	method := "eth_sendPrivateTransaction"
	type object = map[string]any
	params := object{"tx": raw, "preferences": object{"privacy": object{"hints": []string{"hash"}}}}
	if one.lands {
		tx, raw = f.tx(flowKey(number/4), int64(number))
		method = "eth_sendBundle"
		params = object{"txs": []string{raw}, "refundPercent": 50, "refundRecipient": common.Address{0xdd}}
	}
	if one.id = tx.Hash(); one.lands {
		one.id = crypto.Keccak256Hash(one.id[:])
	}
	f.mu.Lock()
	f.promises[tx.Hash()] = one
	f.mu.Unlock()
	_, err := f.ask(ctx, at, method, params)
	f.mu.Lock()
	one.taken = err == nil
	f.mu.Unlock()
	if err != nil || number%4 != 1 {
		return
	}
	result, err := f.ask(ctx, other, "eth_cancelPrivateTransaction", map[string]any{"txHash": tx.Hash()})
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.unsure = err != nil; err == nil {
		if one.cancelled = time.Now(); string(result) != "true" {
			f.Errorf("order %s, which was taken, was not cancelled: %s", tx.Hash(), result)
		}
	}
}

// ask sends a signed request to an instance. An error is that no result came.
func (f *orderFlow) ask(ctx context.Context, at *process, method string, params ...any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.public, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Flashbots-Signature", jsonrpc.SignatureHeader(flowKey(0), body))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, errors.New(answer.Error.Message)
	}
	f.answered.Add(1)
	return answer.Result, nil
}

// goOn waits until so many more requests were answered.
func (f *orderFlow) goOn(more int64) {
	f.Helper()
	for until := f.answered.Load() + more; f.answered.Load() < until; <-time.After(50 * time.Millisecond) {
		if f.Context().Err() != nil {
			f.Fatal("nothing is answered any more")
		}
	}
}

// awaitLanding waits until a bundle has landed. Under load the builder may get the first ones when
// their blocks are over.
func (f *orderFlow) awaitLanding(at *process) {
	f.Helper()
	for !f.hasLanded(at) {
		if f.Context().Err() != nil {
			f.Fatal("nothing lands")
		}
		<-time.After(250 * time.Millisecond)
	}
}

func (f *orderFlow) hasLanded(at *process) bool {
	f.mu.Lock()
	var ids []common.Hash
	for _, one := range f.promises {
		if one.taken && one.lands {
			ids = append(ids, one.id)
		}
	}
	f.mu.Unlock()
	return slices.ContainsFunc(ids, func(id common.Hash) bool { return f.stateOf(at, id) == "landed" })
}

// end ends signers and blocks.
func (f *orderFlow) end() {
	f.stop()
	f.parts.Wait()
}

// listening is a listener, which goes on at the other stream when one ends or is silent.
type listening struct {
	mu  sync.Mutex // guards ids
	ids []uint64
}

func listen(t *testing.T, streams []*process, first int) *listening {
	l := &listening{}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		for turn := first; ctx.Err() == nil; turn++ {
			l.hear(ctx, streams[turn%2].public)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		stop()
		ended.Wait()
	})
	return l
}

// silence is how long a listener hears not even a ping before it asks the other stream.
const silence = 5 * time.Second

// hear listens to one stream, behind what was heard last, until it ends or is silent.
func (l *listening) hear(ctx context.Context, address string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/?ids=1", nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Last-Event-ID", strconv.FormatUint(l.last(), 10))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		quiet.Reset(silence)
		if id, found := strings.CutPrefix(strings.TrimSpace(line), "id: "); found {
			number, err := strconv.ParseUint(id, 10, 64)
			if err != nil {
				panic(err)
			}
			l.mu.Lock()
			l.ids = append(l.ids, number)
			l.mu.Unlock()
		}
	}
}

func (l *listening) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) == 0 {
		return 0
	}
	return l.ids[len(l.ids)-1]
}

// truth is what the journal has: the numbers of the facts of shared orders, how often each refund
// was counted and each order shared, and up to which block refunds are counted.
type truth struct {
	indexed uint64
	events  []uint64
	shared  map[common.Hash]int
	refunds map[common.Hash]int
}

func (f *orderFlow) truthOf(c *cluster) truth {
	f.Helper()
	j, err := journal.Open(f.Context(), journal.Config{URL: c.urls, ReadOnly: true, StartTimeout: time.Minute})
	if err != nil {
		f.Fatal(err)
	}
	defer j.Close(context.Background())
	log, err := j.LogInfo(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	is := truth{shared: map[common.Hash]int{}, refunds: map[common.Hash]int{}}
	end := errors.New("the end")
	err = j.Read(f.Context(), 1, func(number uint64, _ time.Time, subject string, data []byte) error {
		switch subject {
		case orderflow.SharedSubject:
			var fact orderflow.Shared
			if err := json.Unmarshal(data, &fact); err != nil {
				return err
			}
			is.events = append(is.events, number)
			is.shared[fact.Hash]++
		case "rpc." + rpc.RefundCredited{}.Subject():
			var fact rpc.RefundCredited
			if err := json.Unmarshal(data, &fact); err != nil {
				return err
			}
			is.refunds[fact.Hash]++
		case "rpc." + rpc.BlockIndexed{}.Subject():
			var fact rpc.BlockIndexed
			if err := json.Unmarshal(data, &fact); err != nil {
				return err
			}
			is.indexed = max(is.indexed, fact.Number)
		}
		if number >= log.Last {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) {
		f.Fatal(err)
	}
	return is
}

// check counts what must not be.
func (f *orderFlow) check(c *cluster) {
	f.Helper()
	f.mine() // the last bundles end; nobody signs any more
	_, follower := c.owner(f.T)
	follower.ready()
	is := f.truthOf(c)
	for head := f.node.Chain().CurrentBlock().Number.Uint64(); is.indexed < head; is = f.truthOf(c) {
		if f.Context().Err() != nil {
			f.Fatalf("refunds are counted up to block %d of %d", is.indexed, head)
		}
		<-time.After(100 * time.Millisecond) // it takes its owner a moment
	}
	f.checkListeners(is)
	var taken, cancelled, landed, miscounted, lost, doubled int
	for _, one := range f.promises {
		if !one.taken {
			continue
		}
		taken++
		for _, at := range c.rpcs {
			state := f.stateOf(at, one.id)
			switch {
			case !one.cancelled.IsZero() && state != "cancelled", state == "failed", state == "",
				one.cancelled.IsZero() && !one.unsure && state == "cancelled":
				lost++
				f.Errorf("order %s is %q; cancelled: %v", one.id, state, !one.cancelled.IsZero())
			case state == "landed" && at == follower:
				landed++
				// also of a block that came while the journal had no leader
				if count := is.refunds[one.id]; count != 1 {
					miscounted++
					f.Errorf("the refund of %s was counted %d times", one.id, count)
				}
			}
		}
		if !one.cancelled.IsZero() {
			cancelled++
		}
		if is.shared[one.id] > 1 {
			doubled++
			f.Errorf("order %s was shared %d times", one.id, is.shared[one.id])
		}
	}
	f.Logf("%d orders taken: %d cancelled, %d landed (%d refunds not counted once), %d lost, %d shared twice; %d events",
		taken, cancelled, landed, miscounted, lost, doubled, len(is.events))
	if taken == 0 || cancelled == 0 || landed == 0 || len(is.events) == 0 {
		f.Error("too little happened to show anything")
	}
}

// stateOf asks for an order's status until there is one: each refusal is one that asks to come
// again, or says that the order is unknown, which is "".
func (f *orderFlow) stateOf(at *process, hash common.Hash) string {
	f.Helper()
	for {
		result, err := f.ask(f.Context(), at, "gavel_getOrderStatus", hash)
		if err == nil {
			var status struct{ State string }
			if err := json.Unmarshal(result, &status); err != nil {
				f.Fatal(err)
			}
			return status.State
		}
		if strings.HasPrefix(err.Error(), rpc.OrderUnknown.Short) {
			return ""
		}
		if f.Context().Err() != nil {
			f.Fatalf("status of %s: %v", hash, err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// checkListeners compares what was heard with the events of the journal.
func (f *orderFlow) checkListeners(is truth) {
	f.Helper()
	if len(is.events) == 0 {
		return
	}
	for i, l := range f.heard {
		for l.last() < is.events[len(is.events)-1] {
			if f.Context().Err() != nil {
				f.Fatalf("listener %d is at %d of %d", i, l.last(), is.events[len(is.events)-1])
			}
			<-time.After(50 * time.Millisecond)
		}
		l.mu.Lock()
		if got, want := fmt.Sprint(l.ids), fmt.Sprint(is.events); !strings.HasPrefix(got, strings.TrimSuffix(want, "]")) {
			f.Errorf("listener %d heard %s, want %s", i, got, want)
		}
		l.mu.Unlock()
	}
}
