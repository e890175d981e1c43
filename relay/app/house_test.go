package app_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock/clocktest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/app"
)

// house is a whole network on loopback: a chain, an emulated beacon node, and the relay, which
// reaches it by two nodes in front that tests can make refuse, hang or lie. Tests speak raw HTTP
// with all of them, so that no mistake of a client of ours hides one of the relay's.
//
//	test ─── HTTP ──▶ relay ─┬─▶ front A ─┬─▶ emulated beacon node ─▶ chain
//	   │                     └─▶ front B ─┘            ▲
//	   └── attributes, local blocks ───────────────────┘
//
// The clock stands until a test moves it. There is one auction at a time: for the slot that follows
// the head.
type house struct {
	fork     eth.Fork
	spec     *eth.Spec
	clock    *clocktest.Hand
	node     *chain.Node
	beacon   *beacon.Beacon
	fronts   [2]*front
	gate     *gate
	relayURL string
	// proposersURL is of the listener for proposers alone.
	proposersURL string
	// slot is that of the running auction and attributes what its blocks must carry.
	slot       phase0.Slot
	attributes attributes
	built      int // blocks so far, each with its own extra data
	cfg        app.Config
	app        *app.App
	stopRelay  func() error // ends the relay in good order, once
}

const (
	houseValidators = 32
	houseChainID    = 77
	houseGasLimit   = 60_000_000
	// unregisteredSlot is the slot of the one validator that does not register.
	unregisteredSlot = 7
)

var (
	relayKey    = bls.Derive("house relay", 0)
	builderKeys = []*bls.SecretKey{bls.Derive("house builder", 0), bls.Derive("house builder", 1)}
	builderPays = wallet("builder", 0)
)

func wallet(family string, i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Appendf(nil, "house wallet %s %d", family, i)))
	if err != nil {
		panic(err) // one in 2^128
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// user sends the transactions of a slot's blocks, always from nonce 0: each slot has its own.
func user(slot phase0.Slot) *ecdsa.PrivateKey { return wallet("user", int(slot)) }

// payee is a validator's registered fee recipient.
func payee(index phase0.ValidatorIndex) bellatrix.ExecutionAddress {
	return bellatrix.ExecutionAddress{0xfe, 0xab, byte(index)}
}

// houseOptions are what differs from house to house.
type houseOptions struct {
	gasLimit  uint64 // of genesis; 0 is houseGasLimit
	configure func(*app.Config)
	// slotsPerEpoch are 32 unless it says otherwise.
	slotsPerEpoch uint64
	// refusesKnown is as beacon.Config has it.
	refusesKnown bool
	// identities are not served: the relay must read the long JSON list, from which this validator is
	// missing, since it has exited.
	exited *phase0.ValidatorIndex
}

// open builds a house in one fork. The auction is for slot 1, on genesis, six seconds before it
// begins.
func open(t *testing.T, fork eth.Fork, options houseOptions) *house {
	t.Helper()
	h := &house{fork: fork, gate: &gate{}, slot: 1, spec: &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), GenesisForkVersion: phase0.Version{1, 'h', 's', 'e'},
		GenesisValidatorsRoot: beacon.GenesisValidatorsRoot(houseValidators), SlotDuration: 12 * time.Second,
		SlotsPerEpoch: 32,
		Forks:         []eth.ForkPoint{{Fork: fork, Version: phase0.Version{byte(fork) + 1, 'h', 's', 'e'}}},
	}}
	if options.slotsPerEpoch > 0 {
		h.spec.SlotsPerEpoch = options.slotsPerEpoch
	}
	h.clock = clocktest.NewHand(h.spec.GenesisTime.Add(6 * time.Second))
	ctx, stop := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	var closers []func() error
	t.Cleanup(func() {
		stop()
		errs := []error{group.Wait()}
		for i := range closers {
			errs = append(errs, closers[len(closers)-1-i]())
		}
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
	serving := func(listener net.Listener, handler http.Handler) {
		group.Go(func() error { return serve.Serve(ctx, listener, handler, serve.Options{}) })
	}

	funded := []common.Address{addressOf(builderPays)}
	for slot := range phase0.Slot(houseValidators) {
		funded = append(funded, addressOf(user(slot)))
	}
	var err error
	gasLimit := options.gasLimit
	if gasLimit == 0 {
		gasLimit = houseGasLimit
	}
	h.node, err = chain.Open(chain.Config{Spec: h.spec, ChainID: houseChainID, GasLimit: gasLimit, Funded: funded})
	must(t, err)
	closers = append(closers, h.node.Close)
	h.beacon, err = beacon.New(beacon.Config{
		Spec: h.spec, Clock: h.clock, Validators: houseValidators, Seed: 3, Execution: h.node,
		GenesisHash: phase0.Hash32(h.node.Genesis().Hash()), ChainID: houseChainID, RefusesKnown: func(phase0.Slot) bool {
			return options.refusesKnown
		},
	})
	must(t, err)
	group.Go(func() error { return h.beacon.Run(ctx) })
	h.cfg = app.Config{
		Key: relayKey, Clock: h.clock, RevealDelay: -1, ValidationTimeout: time.Minute, PublishTimeout: time.Minute,
	}
	for i := range h.fronts {
		h.fronts[i] = &front{beacon: h.beacon.Handler(), exited: options.exited}
		listener := listen(t)
		serving(listener, h.fronts[i])
		h.fronts[i].url = "http://" + listener.Addr().String()
		h.cfg.BeaconURLs = append(h.cfg.BeaconURLs, h.fronts[i].url)
	}
	h.gate.Validator = execchain.New(h.node.Chain(), execchain.Options{})
	h.cfg.Validator, h.cfg.Limits = h.gate, app.Limits{PerSecond: -1}
	if options.configure != nil {
		options.configure(&h.cfg)
	}
	closers = append(closers, func() error { return h.stopRelay() })
	h.startRelay(t)
	h.registerAll(t)
	h.await(t)
	return h
}

// startRelay runs the relay as it is configured, at a port of its own.
func (h *house) startRelay(t *testing.T) {
	t.Helper()
	h.stopRelay = func() error { return nil }
	listener, proposers := listen(t), listen(t)
	h.relayURL, h.proposersURL = "http://"+listener.Addr().String(), "http://"+proposers.Addr().String()
	var err error
	h.app, err = app.New(context.Background(), h.cfg)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	running := h.app
	go func() { ended <- running.ServeBoth(ctx, listener, proposers) }()
	h.stopRelay = sync.OnceValue(func() error {
		stop()
		return errors.Join(<-ended, running.Close())
	})
}

// restart ends the relay and runs another one on what it has left.
func (h *house) restart(t *testing.T) {
	t.Helper()
	must(t, h.stopRelay())
	h.startRelay(t)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := serve.Listen("127.0.0.1:0")
	must(t, err)
	return listener
}

// duty is the proposer of a slot.
func (h *house) duty(slot phase0.Slot) (phase0.ValidatorIndex, *bls.SecretKey) {
	index, _ := h.beacon.Duty(slot)
	return index, h.beacon.ValidatorKey(index)
}

// nodeURL is a beacon node that is there.
func (h *house) nodeURL() string {
	if h.fronts[0].isDown() {
		return h.fronts[1].url
	}
	return h.fronts[0].url
}

// into sets the clock to a moment relative to the auction's slot.
func (h *house) into(offset time.Duration) { h.clock.Set(h.spec.SlotStart(h.slot).Add(offset)) }

// next goes on to the auction of the slot after this one, whose block has become the head.
func (h *house) next(t *testing.T) {
	t.Helper()
	h.slot++
	h.await(t)
}

// skip lets the auction's slot pass without a block.
func (h *house) skip(t *testing.T) {
	t.Helper()
	h.into(h.spec.SlotDuration / 2)
	h.next(t)
}

// await waits until beacon node and relay have come to the auction's slot.
func (h *house) await(t *testing.T) {
	t.Helper()
	h.attributes = h.announced(t, h.slot)
	nothing := h.good(t)
	nothing.trace.Value = new(uint256.Int) // has no effect, but only once it has passed all checks before execution
	nothing.sign()
	poll(t, "the relay learns the slot's attributes", func() bool {
		return h.submit(t, nothing).status == http.StatusOK
	})
}

// poll asks until the answer is yes. It is for what happens soon but cannot be waited for.
func poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within 30 s", what)
		case <-ticker.C:
		}
	}
}

// attributes are what the beacon node announces for a slot.
type attributes struct {
	parentHash  phase0.Hash32
	parentRoot  phase0.Root
	prevRandao  [32]byte
	withdrawals []*capella.Withdrawal
}

// announced reads the beacon node's events until the attributes of a slot come.
func (h *house) announced(t *testing.T, slot phase0.Slot) attributes {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.nodeURL()+
		"/eth/v1/events?topics=payload_attributes", http.NoBody)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		raw, found := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !found {
			continue
		}
		var event struct {
			Data struct {
				Slot       string `json:"proposal_slot"`
				ParentHash string `json:"parent_block_hash"`
				ParentRoot string `json:"parent_block_root"`
				Attributes struct {
					PrevRandao  string                `json:"prev_randao"`
					Withdrawals []*capella.Withdrawal `json:"withdrawals"`
				} `json:"payload_attributes"`
			} `json:"data"`
		}
		must(t, json.Unmarshal(raw, &event))
		if event.Data.Slot != strconv.FormatUint(uint64(slot), 10) {
			continue
		}
		return attributes{
			parentHash: phase0.Hash32(common.HexToHash(event.Data.ParentHash)),
			parentRoot: phase0.Root(common.HexToHash(event.Data.ParentRoot)),
			prevRandao: common.HexToHash(event.Data.Attributes.PrevRandao), withdrawals: event.Data.Attributes.Withdrawals,
		}
	}
	t.Fatalf("the beacon node's events ended before slot %d was announced", slot)
	return attributes{}
}

// registration of a validator, dated now unless the test changes it and signs again.
func (h *house) registration(index phase0.ValidatorIndex) *builderv1.SignedValidatorRegistration {
	key := h.beacon.ValidatorKey(index)
	r := &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
		FeeRecipient: payee(index), GasLimit: houseGasLimit, Timestamp: h.clock.Now().Truncate(time.Second),
		Pubkey: key.PublicKey(),
	}}
	h.signRegistration(r, key)
	return r
}

func (h *house) signRegistration(r *builderv1.SignedValidatorRegistration, key *bls.SecretKey) {
	r.Signature = key.Sign(eth.SigningRoot(rootOf(r.Message), h.spec.BuilderDomain()))
}

// rootOf is for values that can be hashed.
func rootOf(value interface{ HashTreeRoot() ([32]byte, error) }) phase0.Root {
	root, err := value.HashTreeRoot()
	if err != nil {
		panic(err)
	}
	return root
}

func (h *house) registerAll(t *testing.T) {
	t.Helper()
	without, _ := h.duty(unregisteredSlot)
	var list []*builderv1.SignedValidatorRegistration
	for index := range phase0.ValidatorIndex(houseValidators) {
		if exited := h.fronts[0].exited; index != without && (exited == nil || index != *exited) {
			list = append(list, h.registration(index))
		}
	}
	if got := h.register(t, list...); got.status != http.StatusOK {
		t.Fatalf("registrations: %s", got)
	}
}

func (h *house) register(t *testing.T, list ...*builderv1.SignedValidatorRegistration) answer {
	t.Helper()
	raw, err := json.Marshal(list)
	must(t, err)
	return h.post(t, "/eth/v1/builder/validators", jsonHeader(), raw)
}

// registerProposer changes what the auction's proposer has registered, for the rest of the test.
func (h *house) registerProposer(t *testing.T, change func(*builderv1.ValidatorRegistration)) {
	t.Helper()
	index, key := h.duty(h.slot)
	r := h.registration(index)
	change(r.Message)
	h.signRegistration(r, key)
	if got := h.register(t, r); got.status != http.StatusOK {
		t.Fatalf("registration: %s", got)
	}
	t.Cleanup(func() {
		if got := h.register(t, h.registration(index)); got.status != http.StatusOK {
			t.Errorf("registration: %s", got)
		}
	})
}

// args ask for a block of the auction: two transfers, from deneb on a blob, and a payment of all
// that the coinbase gains.
func (h *house) args(t testing.TB) chain.BuildArgs {
	t.Helper()
	h.built++
	index, _ := h.duty(h.slot)
	a := chain.BuildArgs{
		Parent: h.attributes.parentHash, Slot: h.slot, PrevRandao: h.attributes.prevRandao,
		ParentBeaconRoot: h.attributes.parentRoot,
		Withdrawals:      h.attributes.withdrawals, Coinbase: addressOf(builderPays), GasLimitTarget: houseGasLimit,
		ExtraData: fmt.Appendf(nil, "house %d", h.built), Transactions: []*types.Transaction{h.transfer(t, 0),
			h.transfer(t, 1)},
		Payment: &chain.Payment{From: builderPays, To: common.Address(payee(index))},
	}
	if h.fork >= eth.Deneb {
		a.Transactions = append(a.Transactions, h.blobTransaction(t, 2, 0))
	}
	return a
}

func (h *house) signTx(t testing.TB, key *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(houseChainID)), data)
	must(t, err)
	return tx
}

func (h *house) transfer(t testing.TB, nonce uint64) *types.Transaction {
	return h.signTx(t, user(h.slot), &types.DynamicFeeTx{
		ChainID: big.NewInt(houseChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       21_000, To: &common.Address{1}, Value: big.NewInt(1),
	})
}

func (h *house) blobTransaction(t testing.TB, nonce uint64, blobs ...int) *types.Transaction {
	sidecar := chain.Sidecar(h.fork, blobs...)
	return h.signTx(t, user(h.slot), &types.BlobTx{
		ChainID: uint256.NewInt(houseChainID), Nonce: nonce, GasTipCap: uint256.NewInt(params.GWei),
		GasFeeCap: uint256.NewInt(100 * params.GWei),
		Gas:       21_000, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}

// good is a submission that nothing is wrong with.
func (h *house) good(t testing.TB) *submission {
	t.Helper()
	return h.build(t, h.args(t))
}

// worth is a good submission of a builder that bids a value in wei, at most what the block gains.
func (h *house) worth(t testing.TB, builder int, wei uint64) *submission {
	t.Helper()
	args := h.args(t)
	args.Payment.ValueWei = uint256.NewInt(wei)
	s := h.build(t, args)
	s.key = builderKeys[builder]
	s.sign()
	return s
}

// build makes the submission of any block, signed by the first builder.
func (h *house) build(t testing.TB, args chain.BuildArgs) *submission {
	t.Helper()
	built, err := h.node.Build(t.Context(), args)
	must(t, err)
	index, proposer := h.duty(h.slot)
	s := &submission{
		fork: h.fork, spec: h.spec, key: builderKeys[0], payload: built.Payload, blobs: built.Blobs, requests: built.Requests,
		parentRoot: args.ParentBeaconRoot,
		trace: &builderv1.BidTrace{
			Slot: uint64(h.slot), ParentHash: built.Payload.ParentHash, BlockHash: built.Hash(),
			ProposerPubkey:       proposer.PublicKey(),
			ProposerFeeRecipient: payee(index), GasLimit: built.Payload.GasLimit, GasUsed: built.Payload.GasUsed,
			Value: built.PaidWei,
		},
	}
	s.sign()
	return s
}

// gate is the validator, which tests can make wait at single blocks.
type gate struct {
	exec.Validator

	mu     sync.Mutex // guards closed
	closed map[phase0.Hash32]*held
}

// held is a block whose validation waits: arrived is closed when it has come, open lets it go on.
type held struct{ arrived, open chan struct{} }

// hold makes the validation of a block wait.
func (g *gate) hold(hash phase0.Hash32) *held {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = map[phase0.Hash32]*held{}
	}
	g.closed[hash] = &held{make(chan struct{}), make(chan struct{})}
	return g.closed[hash]
}

// Validate implements exec.Validator.
func (g *gate) Validate(ctx context.Context, block *exec.Block) exec.Verdict {
	g.mu.Lock()
	at := g.closed[block.Payload.BlockHash]
	g.mu.Unlock()
	if at != nil {
		close(at.arrived)
		<-at.open
	}
	return g.Validator.Validate(ctx, block)
}

// front stands before the beacon node. Publications are counted, and answered by a test if it wants
// to.
type front struct {
	url    string
	beacon http.Handler
	exited *phase0.ValidatorIndex

	mu        sync.Mutex // guards all below
	published int
	publish   http.HandlerFunc // nil passes on
	down      bool
	running   map[int]context.CancelFunc // requests that are not answered yet, events among them
	admitted  int                        // requests so far
	asked     []string                   // their paths
}

// take takes the node off the network, in the midst of its events; bring brings it back.
func (f *front) take() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for _, end := range f.running {
		end()
	}
}

func (f *front) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *front) bring() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
}

// questions is how many requests have been answered whose path has a part.
func (f *front) questions(part string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.asked {
		if strings.Contains(path, part) {
			n++
		}
	}
	return n
}

// admit lets a request in unless the node is off the network. The request it returns ends when the
// node goes; leave says that it has been answered.
func (f *front) admit(r *http.Request) (admitted *http.Request, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, nil
	}
	f.asked = append(f.asked, r.URL.Path)
	ctx, end := context.WithCancel(r.Context())
	f.admitted++
	id := f.admitted
	if f.running == nil {
		f.running = map[int]context.CancelFunc{}
	}
	f.running[id] = end
	return r.WithContext(ctx), func() {
		end()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, id)
	}
}

// answers makes the front answer publications itself; nil passes them on again.
func (f *front) answers(publish http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish = publish
}

// count is how many publications have come.
func (f *front) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.published
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, leave := f.admit(r)
	if r == nil {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/eth/v2/beacon/blocks":
		f.mu.Lock()
		f.published++
		publish := f.publish
		f.mu.Unlock()
		if publish != nil {
			body, _ := io.ReadAll(r.Body) // a part of it is one that the node would refuse
			r.Body = io.NopCloser(bytes.NewReader(body))
			publish(w, r)
			return
		}
	case f.exited != nil && strings.HasSuffix(r.URL.Path, "/validator_identities"):
		http.NotFound(w, r)
		return
	case f.exited != nil && strings.HasSuffix(r.URL.Path, "/validators"):
		f.withoutExited(w, r)
		return
	}
	f.beacon.ServeHTTP(w, r)
}

// withoutExited lists validators as a node does that knows of an exit.
func (f *front) withoutExited(w http.ResponseWriter, r *http.Request) {
	r.URL.RawQuery += "&id=" + strings.Join(allBut(int(*f.exited)), ",")
	f.beacon.ServeHTTP(w, r)
}

func allBut(without int) (ids []string) {
	for i := range houseValidators {
		if i != without {
			ids = append(ids, strconv.Itoa(i))
		}
	}
	return ids
}

// status answers publications with a status.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// String is for messages of tests.
func (a answer) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

func (h *house) get(t testing.TB, path string, header http.Header) answer {
	t.Helper()
	return h.do(t, http.MethodGet, path, header, nil)
}

func (h *house) post(t testing.TB, path string, header http.Header, body []byte) answer {
	t.Helper()
	return h.do(t, http.MethodPost, path, header, body)
}

func (h *house) do(t testing.TB, method, path string, header http.Header, body []byte) answer {
	t.Helper()
	// Cleanups send requests too, when the test's context has ended.
	got, err := h.try(context.WithoutCancel(t.Context()), method, path, header, body)
	must(t, err)
	return got
}

// try is for goroutines, where a test cannot be ended.
func (h *house) try(ctx context.Context, method, path string, header http.Header, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, h.relayURL+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, raw}, err
}

// wantStatus checks the status, and the common error body of a refusal.
func (a answer) wantStatus(t testing.TB, status int) {
	t.Helper()
	if a.status != status {
		t.Errorf("got %s, want status %d", a, status)
		return
	}
	if status >= 400 {
		a.wantErrorBody(t)
	}
}

// wantErrorBody wants the common error body and returns its message.
func (a answer) wantErrorBody(t testing.TB) string {
	t.Helper()
	message, err := a.errorMessage()
	if err != nil {
		t.Error(err)
	}
	return message
}

// errorMessage reads the common error body: one JSON document with code and message (builder-specs,
// "ErrorMessage").
func (a answer) errorMessage() (string, error) {
	var document struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	err := json.Unmarshal(a.body, &document) // fails at a second document
	if err != nil || document.Code != a.status || document.Message == "" ||
		a.header.Get("Content-Type") != "application/json" {
		return "", fmt.Errorf("got %s as %q, want one JSON document with code and message", a, a.header.Get("Content-Type"))
	}
	return document.Message, nil
}

// wantRefusal checks status, id, message and what the message goes on to say.
func (a answer) wantRefusal(t testing.TB, refusal relay.Refusal, detail string) {
	t.Helper()
	if id := a.header.Get("X-Refusal"); a.status != api.Statuses[refusal.ID] || id != refusal.ID {
		t.Errorf("got %s named %q, want %d %s", a, id, api.Statuses[refusal.ID], refusal.ID)
		return
	}
	message := a.wantErrorBody(t)
	if rest, found := strings.CutPrefix(message, refusal.Short); !found || !strings.Contains(rest, detail) {
		t.Errorf("got %q, want %q with %q", message, refusal.Short, detail)
	}
}
