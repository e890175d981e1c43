package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

const (
	stakedIndex   = 5
	relayHost     = "relay.example"
	gloasProposer = 1 // proposes in slot 1
)

var stakedKey = bls.Derive("staked builder", 0)

// gloasNode is a beacon node in gloas that says what the test tells it to: the devnet's does not
// speak the fork yet.
type gloasNode struct {
	spec *eth.Spec

	mu      sync.Mutex // guards what follows
	exiting bool
	balance phase0.Gwei    // of the relay's staked builder
	other   *gloas.Builder // a staked builder that is not the relay's
	// builderRequests counts the requests for builders.
	builderRequests int
	listeners       map[chan string]bool
	last            []string // events that new listeners get
	blocks          [][]byte // that were published
	envelopes       chan []byte
	refusals        int // of envelopes, before one is taken
	sent            int // envelopes that came, also those that were refused
}

func (n *gloasNode) key(i phase0.ValidatorIndex) *bls.SecretKey {
	return bls.Derive("gloas", uint64(i))
}

// tell sends an event to all who listen, and to those who come later.
func (n *gloasNode) tell(topic, data string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	event := "event: " + topic + "\ndata: " + data + "\n\n"
	n.last = append(n.last, event)
	for listener := range n.listeners {
		listener <- event
	}
}

func (n *gloasNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	write := func(format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, format, args...)
	}
	zero := fmt.Sprintf("%#x", make([]byte, 32))
	switch path := r.URL.Path; {
	case path == "/eth/v1/beacon/genesis":
		write(`{"data":{"genesis_time":"%d","genesis_validators_root":%q,"genesis_fork_version":"%#x"}}`,
			n.spec.GenesisTime.Unix(), fmt.Sprintf("%#x", n.spec.GenesisValidatorsRoot[:]), n.spec.GenesisForkVersion[:])
	case path == "/eth/v1/config/spec":
		write(`{"data":{"SLOT_DURATION_MS":"12000","SLOTS_PER_EPOCH":"32","GLOAS_FORK_EPOCH":"0",`+
			`"GLOAS_FORK_VERSION":"%#x"}}`, n.spec.Forks[0].Version[:])
	case path == "/eth/v1/beacon/headers/head":
		write(`{"data":{"root":%q,"header":{"message":{"slot":"0"}}}}`, zero)
	case path == "/eth/v1/beacon/states/head/validators":
		rows := make([]string, 32)
		for i := range rows {
			key := n.key(phase0.ValidatorIndex(i)).PublicKey()
			rows[i] = fmt.Sprintf(`{"index":"%d","validator":{"pubkey":"%#x"}}`, i, key[:])
		}
		write(`{"data":[%s]}`, strings.Join(rows, ","))
	case strings.HasPrefix(path, "/eth/v2/validator/duties/proposer/"):
		epoch, _ := strconv.Atoi(path[strings.LastIndex(path, "/")+1:])
		rows := make([]string, 32)
		for i := range rows {
			key := n.key(phase0.ValidatorIndex(i)).PublicKey()
			rows[i] = fmt.Sprintf(`{"slot":"%d","validator_index":"%d","pubkey":"%#x"}`, 32*epoch+i, i, key[:])
		}
		write(`{"dependent_root":%q,"data":[%s]}`, zero, strings.Join(rows, ","))
	case path == "/eth/v1/beacon/states/head/finality_checkpoints":
		write(`{"data":{"finalized":{"epoch":"3"}}}`)
	case path == "/eth/v1/beacon/states/head/builders" && r.Method == http.MethodPost:
		n.builders(w, r)
	case path == "/eth/v2/beacon/blocks":
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.blocks = append(n.blocks, body)
	case path == "/eth/v1/beacon/execution_payload_envelopes":
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.sent++
		if n.refusals > 0 {
			n.refusals--
			http.Error(w, "busy", http.StatusServiceUnavailable)
		} else if r.Header.Get("Eth-Blob-Data-Included") == "true" && r.Header.Get("Eth-Consensus-Version") == "gloas" {
			n.envelopes <- body
		}
	case path == "/eth/v1/events":
		n.events(w, r)
	default:
		http.NotFound(w, r)
	}
}

// builders answers with the relay's builder, and the other one if all are asked for.
func (n *gloasNode) builders(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		IDs []string `json:"ids"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.builderRequests++
	own := gloas.Builder{
		Pubkey: stakedKey.PublicKey(), Balance: n.balance, DepositEpoch: 2, WithdrawableEpoch: gloas.FarFuture,
	}
	if n.exiting {
		own.WithdrawableEpoch = 9
	}
	rows := []string{builderRow(stakedIndex, &own)}
	if len(asked.IDs) == 0 && n.other != nil {
		rows = append(rows, builderRow(otherIndex, n.other))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(rows, ","))
}

func builderRow(index int, b *gloas.Builder) string {
	raw, err := gloas.Mainnet.Builder.ToJSON(b)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"index":"%d","balance":"%d","builder":%s}`, index, b.Balance, raw)
}

func (n *gloasNode) events(w http.ResponseWriter, r *http.Request) {
	mine := make(chan string, 64)
	n.mu.Lock()
	for _, event := range n.last {
		mine <- event
	}
	n.listeners[mine] = true
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, mine)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case event := <-mine:
			if _, err := w.Write([]byte(event)); err != nil {
				return
			}
		}
	}
}

// relayInGloas is a relay with a staked builder, its beacon node, and a chain in amsterdam. The
// auction is for slot 1 on genesis.
type relayInGloas struct {
	relayUnderTest
	node  *gloasNode
	full  *chain.Node
	given phase0.BLSSignature // of the last bid
	blobs []int               // of each block
}

func newRelayInGloas(t testing.TB, configure func(*app.Config)) *relayInGloas {
	t.Helper()
	genesis := time.Unix(1_700_000_000, 0)
	h := &relayInGloas{node: &gloasNode{listeners: map[chan string]bool{}, envelopes: make(chan []byte, 8),
		other: goodBuilder()}, blobs: []int{0}}
	h.clock, h.slot, h.fork = newWaitingClock(genesis.Add(6*time.Second)), 1, eth.Gloas
	h.spec = &eth.Spec{
		GenesisTime: genesis, GenesisForkVersion: phase0.Version{0, 'g', 'v', 'l'}, GenesisValidatorsRoot: phase0.Root{7},
		SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Gloas, Version: phase0.Version{7, 'g', 'v', 'l'}}},
	}
	h.node.spec = h.spec
	var err error
	h.full, err = chain.Open(chain.Config{
		Spec: h.spec, ChainID: network.ChainID, GasLimit: network.GasLimit,
		Funded: append(spenders(), common.Address(payee(gloasProposer))),
	})
	must(t, err)
	listener := listen(t)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve.Serve(ctx, listener, h.node, serve.Options{}) }()
	h.cfg = app.Config{
		Key: relayKey, Clock: h.clock, ValidationTimeout: time.Minute,
		BeaconURLs: []string{"http://" + listener.Addr().String()},
		Validator:  chain.NewValidator(h.full.Chain(), chain.ValidatorOptions{}), Limits: app.Limits{PerSecond: -1},
		Gloas: &app.Gloas{Index: stakedIndex, Key: stakedKey, AuthData: [][]byte{[]byte(relayHost)}},
	}
	if configure != nil {
		configure(&h.cfg)
	}
	h.startRelay(t)
	t.Cleanup(func() {
		must(t, h.stopRelay())
		stop()
		must(t, <-served)
		must(t, h.full.Close())
	})
	return h
}

// validator is who proposes in the auction's slot.
func (h *relayInGloas) validator() phase0.ValidatorIndex {
	return phase0.ValidatorIndex(uint64(h.slot) % h.spec.SlotsPerEpoch)
}

// parent is what a block is built on: a beacon block, with its payload or without.
type parent struct {
	hash phase0.Hash32
	root phase0.Root
}

func (h *relayInGloas) onGenesis() parent {
	return parent{phase0.Hash32(h.full.Genesis().Hash()), phase0.Root{0xb0}}
}

func (h *relayInGloas) randao() phase0.Root { return phase0.Root{0xaa, byte(h.slot)} }

// announce has the beacon node tell what a block of the auction's slot on a parent must carry.
func (h *relayInGloas) announce(on parent) {
	h.node.tell("payload_attributes", fmt.Sprintf(`{"version":"gloas","data":{"proposal_slot":"%d",`+
		`"parent_block_root":"%#x","parent_block_hash":"%#x","payload_attributes":{"timestamp":"%d",`+
		`"prev_randao":"%#x","withdrawals":[],"parent_beacon_block_root":"%#x","slot_number":"%d","target_gas_limit":"%d"}}}`, h.slot, on.root[:], on.hash[:],
		h.spec.Timestamp(h.slot), h.randao(), on.root[:], h.slot, network.GasLimit))
}

// prefer has the beacon node tell what the slot's proposer asks for, on one branch of the chain.
func (h *relayInGloas) prefer(t testing.TB, dependent byte, change func(*gloas.ProposerPreferences)) {
	t.Helper()
	index := h.validator()
	p := &gloas.ProposerPreferences{
		DependentRoot: phase0.Root{dependent}, ProposalSlot: h.slot, ValidatorIndex: index, FeeRecipient: payee(index),
		TargetGasLimit: network.GasLimit,
	}
	if change != nil {
		change(p)
	}
	root, err := gloas.Mainnet.ProposerPreferences.Root(p)
	must(t, err)
	signed := &gloas.SignedProposerPreferences{Message: p,
		Signature: h.node.key(index).Sign(eth.SigningRoot(root, gloas.PreferencesDomain(h.spec, h.slot)))}
	raw, err := gloas.Mainnet.SignedProposerPreferences.ToJSON(signed)
	must(t, err)
	h.node.tell("proposer_preferences", `{"version":"gloas","data":`+string(raw)+`}`)
}

// begun announces the auction and waits until the relay has heard of it.
func (h *relayInGloas) begun(t testing.TB) {
	t.Helper()
	h.announce(h.onGenesis())
	h.prefer(t, 1, nil)
	h.knows(t, h.onGenesis())
}

// knows waits until the relay takes blocks on a parent: one of no value has no effect, but is
// compared with all that was announced.
func (h *relayInGloas) knows(t testing.TB, on parent) {
	t.Helper()
	nothing := h.block(t, on, 0)
	poll(t, "the relay learns the slot's attributes and preferences", func() bool {
		return h.post(t, submitPath, sszHeader(eth.Gloas), h.ssz(t, nothing)).status == http.StatusOK
	})
}

// block is a block of the auction's slot that pays its proposer as many Gwei and half of one more.
func (h *relayInGloas) block(t testing.TB, on parent, gwei uint64) *gloas.SignedBidSubmissionV6 {
	t.Helper()
	h.built++
	index := h.validator()
	value := wei(gwei)
	args := chain.BuildArgs{
		Parent: on.hash, Slot: h.slot, PrevRandao: h.randao(), ParentBeaconRoot: on.root,
		Withdrawals: []*capella.Withdrawal{},
		Coinbase:    addressOf(builderPays), GasLimitTarget: network.GasLimit,
		ExtraData:    fmt.Appendf(nil, "block %d", h.built),
		Transactions: []*types.Transaction{h.blobTransaction(t, 0, h.blobs...)},
		Payment:      &chain.Payment{From: builderPays, To: common.Address(payee(index)), ValueWei: value},
	}
	built, err := h.full.Build(t.Context(), args)
	must(t, err)
	if built.Left > 0 {
		t.Fatalf("%d transactions are not in the block", built.Left)
	}
	s := &gloas.SignedBidSubmissionV6{
		Message: &builderv1.BidTrace{
			Slot: uint64(h.slot), ParentHash: on.hash, BlockHash: built.Hash(), BuilderPubkey: builderKeys[0].PublicKey(),
			ProposerPubkey: h.node.key(index).PublicKey(), ProposerFeeRecipient: payee(index),
			GasLimit: built.Payload.GasLimit, GasUsed: built.Payload.GasUsed, Value: value,
		},
		BlobsBundle: &gloas.BlobsBundle{Commitments: built.Blobs.Commitments, Proofs: built.Blobs.Proofs,
			Blobs: built.Blobs.Blobs},
	}
	s.ExecutionPayload, s.ExecutionRequests = payload.JoinGloas(built.Payload, built.Requests, built.Gloas)
	h.sign(s)
	return s
}

func (h *relayInGloas) sign(s *gloas.SignedBidSubmissionV6) {
	s.Signature = builderKeys[0].Sign(eth.SigningRoot(rootOf(s.Message), h.spec.BuilderDomain()))
}

func (h *relayInGloas) ssz(t testing.TB, s *gloas.SignedBidSubmissionV6) []byte {
	t.Helper()
	raw, err := gloas.Mainnet.SignedBidSubmissionV6.Encode(s)
	must(t, err)
	return raw
}

// taken sends a block that must be taken, without the version header, as builders do.
func (h *relayInGloas) taken(t testing.TB, s *gloas.SignedBidSubmissionV6) {
	t.Helper()
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if got := h.post(t, submitPath+"?cancellations=1", header, h.ssz(t, s)); got.status != http.StatusOK {
		t.Fatalf("a good block: %s", got)
	}
}

// wish is a proposer's request for a bid.
type wish struct {
	slot   phase0.Slot
	on     parent
	key    *bls.SecretKey // of the path
	signer *bls.SecretKey
	domain phase0.Domain
	auth   gloas.BuilderRequestAuth
	header http.Header
	body   []byte // in place of the signed auth
}

// wish is what the slot's proposer sends; a test changes what it likes.
func (h *relayInGloas) wish(change func(*wish)) *wish {
	key := h.node.key(h.validator())
	r := &wish{
		slot: h.slot, on: h.onGenesis(), key: key, signer: key, domain: gloas.RequestAuthDomain(h.spec),
		auth: gloas.BuilderRequestAuth{Data: []byte(relayHost), Slot: h.slot},
		header: http.Header{"Content-Type": {"application/json"}, "Eth-Consensus-Version": {"gloas"},
			"Date-Milliseconds": {strconv.FormatInt(h.clock.Now().UnixMilli(), 10)}, "X-Timeout-Ms": {"1000"}},
	}
	if change != nil {
		change(r)
	}
	return r
}

func (r *wish) signed() *gloas.SignedBuilderRequestAuth {
	root, err := gloas.Mainnet.BuilderRequestAuth.Root(&r.auth)
	if err != nil {
		panic(err)
	}
	return &gloas.SignedBuilderRequestAuth{Message: &r.auth, Signature: r.signer.Sign(eth.SigningRoot(root, r.domain))}
}

func (h *relayInGloas) ask(t testing.TB, r *wish) answer {
	t.Helper()
	if r.body == nil {
		var err error
		r.body, err = gloas.Mainnet.SignedBuilderRequestAuth.ToJSON(r.signed())
		must(t, err)
	}
	key := r.key.PublicKey()
	return h.post(t, fmt.Sprintf("/eth/v1/builder/execution_payload_bid/%d/%#x/%#x/%#x", r.slot, r.on.hash[:],
		r.on.root[:], key[:]), r.header, r.body)
}

// bid is the bid that the proposer gets, with all that must be true of any.
func (h *relayInGloas) bid(t testing.TB, r *wish) *gloas.ExecutionPayloadBid {
	t.Helper()
	got := h.ask(t, r)
	var document struct {
		Version string          `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	if got.status != http.StatusOK || got.header.Get("Eth-Consensus-Version") != "gloas" {
		t.Fatalf("no bid: %s", got)
	}
	must(t, json.Unmarshal(got.body, &document))
	signed, err := gloas.Mainnet.SignedExecutionPayloadBid.FromJSON(document.Data)
	must(t, err)
	m := signed.Message
	h.given = signed.Signature
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(m)
	must(t, err)
	must(t, bls.Verify(stakedKey.PublicKey(), eth.SigningRoot(root, gloas.BuilderDomain(h.spec, h.slot)),
		signed.Signature))
	if document.Version != "gloas" || m.Slot != r.slot || m.ParentBlockHash != r.on.hash ||
		m.ParentBlockRoot != r.on.root || m.BuilderIndex != stakedIndex ||
		(m.Value != 0 && h.cfg.Gloas.SharePercent == 0) || m.PrevRandao != h.randao() ||
		m.FeeRecipient != payee(h.validator()) || m.GasLimit != network.GasLimit {
		t.Fatalf("bid %+v", m)
	}
	r.header = r.header.Clone()
	r.header.Set("Accept", "application/octet-stream")
	inSSZ := h.ask(t, r)
	raw, err := gloas.Mainnet.SignedExecutionPayloadBid.Encode(signed)
	if err != nil || string(raw) != string(inSSZ.body) {
		t.Errorf("in SSZ it is another bid: %v, %s", err, inSSZ)
	}
	return m
}

// A builder without stake sells its block by the relay: the best one becomes a bid of the relay's
// staked builder that promises what the block pays, in whole Gwei.
func TestBidInGloas(t *testing.T) {
	h := newRelayInGloas(t, nil)
	if got := h.get(t, "/readyz", nil); got.status != http.StatusOK {
		t.Fatalf("not ready: %s", got)
	}
	h.begun(t)
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent || len(got.body) != 0 {
		t.Errorf("nobody has sent a block, and there is a bid: %s", got)
	}
	low, high := h.block(t, h.onGenesis(), 1000), h.block(t, h.onGenesis(), 2000)
	h.taken(t, low)
	if m := h.bid(t, h.wish(nil)); m.BlockHash != low.Message.BlockHash || m.ExecutionPayment != 1000 {
		t.Errorf("bid %+v", m)
	}
	h.taken(t, high)
	m := h.bid(t, h.wish(nil))
	if m.BlockHash != high.Message.BlockHash || m.ExecutionPayment != 2000 {
		t.Errorf("bid %+v", m)
	}
	requests, err := gloas.Mainnet.ExecutionRequests.Root(high.ExecutionRequests)
	must(t, err)
	if len(m.BlobKZGCommitments) != 1 || m.BlobKZGCommitments[0] != high.BlobsBundle.Commitments[0] ||
		m.ExecutionRequestsRoot != requests {
		t.Errorf("bid %+v", m)
	}
	// The proposer may send its request in SSZ; the old way to bids has none.
	packed := h.wish(nil)
	raw, err := gloas.Mainnet.SignedBuilderRequestAuth.Encode(packed.signed())
	must(t, err)
	packed.body, packed.header["Content-Type"] = raw, []string{"application/octet-stream"}
	if got := h.ask(t, packed); got.status != http.StatusOK {
		t.Errorf("a request in SSZ: %s", got)
	}
	key := packed.key.PublicKey()
	header := fmt.Sprintf("/eth/v1/builder/header/1/%#x/%#x", high.Message.ParentHash[:], key[:])
	if got := h.get(t, header, nil); got.status != http.StatusNoContent {
		t.Errorf("a header in gloas: %s", got)
	}
	// Builders learn of the proposer's terms where they learned of registrations.
	var duties []struct {
		Slot  string `json:"slot"`
		Entry struct {
			Message struct {
				FeeRecipient string `json:"fee_recipient"`
			} `json:"message"`
		} `json:"entry"`
	}
	must(t, json.Unmarshal(h.get(t, "/relay/v1/builder/validators", nil).body, &duties))
	recipient := payee(gloasProposer)
	if len(duties) != 1 || duties[0].Slot != "1" ||
		!strings.EqualFold(duties[0].Entry.Message.FeeRecipient, fmt.Sprintf("%#x", recipient[:])) {
		t.Errorf("duties %+v", duties)
	}
}

// Blocks on the same beacon block with its payload and without are kept apart, and so are those on
// another beacon block.
func TestParentsAreKeptApart(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	empty := h.onGenesis()
	first := h.block(t, empty, 10)
	parentBlock, err := payload.GloasBlock(first.ExecutionPayload, first.BlobsBundle.Commitments, empty.root,
		first.ExecutionRequests)
	must(t, err)
	if _, err := h.full.Chain().InsertChain(types.Blocks{parentBlock}); err != nil {
		t.Fatal(err)
	}
	h.slot = 2
	h.clock.Set(h.spec.SlotStart(2).Add(-time.Second))
	empty.root = phase0.Root{0xb1}
	full := parent{first.Message.BlockHash, empty.root}
	h.announce(empty)
	h.announce(full)
	h.prefer(t, 1, nil)
	h.knows(t, full)
	on := func(p parent) func(*wish) { return func(r *wish) { r.on = p } }
	h.taken(t, h.block(t, empty, 2000))
	if got := h.ask(t, h.wish(on(full))); got.status != http.StatusNoContent {
		t.Errorf("a block without the parent's payload is offered after it: %s", got)
	}
	h.taken(t, h.block(t, full, 1000))
	if m := h.bid(t, h.wish(on(full))); m.ExecutionPayment != 1000 {
		t.Errorf("bid %+v", m)
	}
	if m := h.bid(t, h.wish(on(empty))); m.ExecutionPayment != 2000 {
		t.Errorf("bid %+v", m)
	}
	if got := h.ask(t, h.wish(on(parent{full.hash, phase0.Root{0xb2}}))); got.status != http.StatusNoContent {
		t.Errorf("a bid on another beacon block: %s", got)
	}
}

// Wrong requests are refused by name, and those that are right but in vain get 204.
func TestRequestsForBids(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	h.taken(t, h.block(t, h.onGenesis(), 1000))
	h.bid(t, h.wish(nil)) // a right request, which the relay does not verify twice
	for name, row := range map[string]struct {
		change  func(*wish)
		refusal *relay.Refusal // 204 without one
	}{
		"auth data of another builder": {func(r *wish) { r.auth.Data = []byte("https://" + relayHost) }, &relay.AuthData},
		"no auth data":                 {func(r *wish) { r.auth.Data = nil }, &relay.AuthData},
		"auth for another slot":        {func(r *wish) { r.auth.Slot++ }, &relay.AuthSlot},
		"another signer":               {func(r *wish) { r.signer = stranger }, &relay.AuthSignature},
		"another's right signature": {func(r *wish) {
			r.key = h.node.key(9) // the path has this one; the request is one that was right before
		}, &relay.AuthSignature},
		"under the old builder domain": {func(r *wish) { r.domain = h.spec.BuilderDomain() }, &relay.AuthSignature},
		"no deadline":                  {func(r *wish) { r.header.Del("X-Timeout-Ms") }, &relay.InvalidDeadline},
		"a date in words":              {func(r *wish) { r.header.Set("Date-Milliseconds", "now") }, &relay.InvalidDeadline},
		"no version":                   {func(r *wish) { r.header.Del("Eth-Consensus-Version") }, &relay.UnknownFork},
		"the version of another fork":  {func(r *wish) { r.header.Set("Eth-Consensus-Version", "fulu") }, &relay.WrongFork},
		"no body":                      {func(r *wish) { r.body = []byte{} }, &relay.Malformed},
		"half a body":                  {func(r *wish) { r.body = []byte(`{"message":{"data":"0x61"`) }, &relay.Malformed},
		"text": {func(r *wish) { r.header.Set("Content-Type", "text/plain") },
			&relay.UnsupportedMediaType},
		"an answer as text":              {func(r *wish) { r.header.Set("Accept", "text/plain") }, &relay.NotAcceptable},
		"a deadline that is over":        {func(r *wish) { r.header.Set("X-Timeout-Ms", "0") }, nil},
		"a validator that does not come": {func(r *wish) { r.key = h.node.key(9); r.signer = r.key }, nil},
		"an unknown parent":              {func(r *wish) { r.on.hash[0]++ }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.ask(t, h.wish(row.change))
			if row.refusal != nil {
				got.wantRefusal(t, *row.refusal, "")
			} else if got.status != http.StatusNoContent || len(got.body) > 0 {
				t.Errorf("%s, want 204", got)
			}
		})
	}
	h.bid(t, h.wish(nil)) // nothing of it has changed anything
}

// prefers sends a proposer's cap.
func (h *relayInGloas) prefers(t testing.TB, r *wish, most phase0.Gwei) answer {
	t.Helper()
	raw, err := gloas.Mainnet.BuilderPreferencesRequest.ToJSON(&gloas.BuilderPreferencesRequest{
		Preferences: &gloas.BuilderPreferences{MaxExecutionPayment: most}, Auth: r.signed(),
	})
	must(t, err)
	key := r.key.PublicKey()
	return h.post(t, fmt.Sprintf("/eth/v1/builder/builder_preferences/%#x", key[:]), r.header, raw)
}

// No bid pays more within its payload than the proposer has said that it counts, and what somebody
// else says changes nothing.
func TestCap(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	h.taken(t, h.block(t, h.onGenesis(), 1000))
	for name, row := range map[string]struct {
		change  func(*wish)
		refusal relay.Refusal
	}{
		"another signer":     {func(r *wish) { r.signer = stranger }, relay.AuthSignature},
		"of another builder": {func(r *wish) { r.auth.Data = []byte("other.example") }, relay.AuthData},
		"for another's slot": {func(r *wish) { r.key = h.node.key(9); r.signer = r.key }, relay.PreferencesNotProposer},
	} {
		h.prefers(t, h.wish(row.change), 0).wantRefusal(t, row.refusal, "")
		if m := h.bid(t, h.wish(nil)); m.ExecutionPayment != 1000 {
			t.Errorf("%s: bid %+v", name, m)
		}
	}
	for _, row := range []struct {
		most phase0.Gwei
		bids bool
	}{{1000, true}, {999, false}, {0, false}, {1001, true}} {
		if got := h.prefers(t, h.wish(nil), row.most); got.status != http.StatusAccepted || len(got.body) > 0 {
			t.Fatalf("preferences: %s", got)
		}
		if got := h.ask(t, h.wish(nil)); (got.status == http.StatusOK) != row.bids {
			t.Errorf("a payment of 1000 Gwei, at most %d: %s", row.most, got)
		}
	}
	h.clock.Set(h.spec.SlotStart(2))
	h.prefers(t, h.wish(nil), 1).wantRefusal(t, relay.AuthSlot, "over")
}

// Preferences of two branches of the chain that contradict each other leave no bid: one of them
// would pay somebody whom the proposer does not want.
func TestContradictingPreferences(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	h.taken(t, h.block(t, h.onGenesis(), 1000))
	h.bid(t, h.wish(nil))
	h.prefer(t, 2, func(p *gloas.ProposerPreferences) { p.FeeRecipient[0]++ })
	poll(t, "the relay learns of the other preferences", func() bool {
		return h.ask(t, h.wish(nil)).status == http.StatusNoContent
	})
}

// Blocks that are not what their bid says are refused, each by its name, and never bid.
func TestWrongBlocksInGloas(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	for name, row := range map[string]struct {
		spoil   func(*gloas.SignedBidSubmissionV6)
		refusal relay.Refusal
	}{
		"another slot number": {func(s *gloas.SignedBidSubmissionV6) { s.ExecutionPayload.SlotNumber++ },
			relay.SubmissionSlotNumber},
		"no access list": {func(s *gloas.SignedBidSubmissionV6) { s.ExecutionPayload.BlockAccessList = nil },
			relay.Malformed},
		"another access list": {func(s *gloas.SignedBidSubmissionV6) {
			s.ExecutionPayload.BlockAccessList = []byte{0xc0}
		}, relay.SubmissionInvalid},
		"requests of builders that nobody has made": {func(s *gloas.SignedBidSubmissionV6) {
			s.ExecutionRequests.BuilderExits = []*gloas.BuilderExitRequest{{}}
		}, relay.SubmissionInvalid},
		"too many requests": {func(s *gloas.SignedBidSubmissionV6) {
			for range gloas.MaxBuilderExits + 1 {
				s.ExecutionRequests.BuilderExits = append(s.ExecutionRequests.BuilderExits, &gloas.BuilderExitRequest{})
			}
		}, relay.Malformed},
		"a payment that it does not make": {func(s *gloas.SignedBidSubmissionV6) {
			s.Message.Value.AddUint64(s.Message.Value, 1)
		}, relay.SubmissionInvalid},
		"another fee recipient": {func(s *gloas.SignedBidSubmissionV6) { s.Message.ProposerFeeRecipient[0]++ },
			relay.SubmissionFeeRecipient},
	} {
		t.Run(name, func(t *testing.T) {
			s := h.block(t, h.onGenesis(), 1000)
			row.spoil(s)
			h.sign(s)
			raw, err := gloas.Mainnet.SignedBidSubmissionV6.ToJSON(s)
			must(t, err)
			h.post(t, submitPath, jsonHeader(), raw).wantRefusal(t, row.refusal, "")
			packed := sszHeader(eth.Gloas)
			packed.Set("Content-Encoding", "gzip")
			h.post(t, submitPath, packed, zip(t, h.ssz(t, s))).wantRefusal(t, row.refusal, "")
		})
	}
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a wrong block is bid: %s", got)
	}
}

// Without a staked builder, and with one that leaves, there are no bids in gloas, and /readyz says
// why. A relay whose builder proposers would trust in vain does not start.
func TestNoBidsWithoutABuilder(t *testing.T) {
	h := newRelayInGloas(t, func(c *app.Config) { c.Gloas = nil })
	got := h.get(t, "/readyz", nil)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "--gloas-builder-index") {
		t.Errorf("/readyz: %s", got)
	}
	h.get(t, "/eth/v1/builder/status", nil).wantStatus(t, http.StatusOK)
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a bid without a builder: %s", got)
	}
	h.post(t, submitPath, sszHeader(eth.Gloas), h.ssz(t, h.block(t, h.onGenesis(), 1))).
		wantRefusal(t, relay.UnknownFork, "gloas")

	for name, configure := range map[string]func(*app.Config){
		"without auth data": func(c *app.Config) { c.Gloas.AuthData = nil },
		"without a key":     func(c *app.Config) { c.Gloas.Key = nil },
	} {
		cfg := h.cfg
		cfg.Gloas = &app.Gloas{Index: stakedIndex, Key: stakedKey, AuthData: [][]byte{{1}}}
		configure(&cfg)
		if err := cfg.Validate(); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}

// A builder that leaves the beacon chain may not bid any more.
func TestBuilderThatLeaves(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	h.taken(t, h.block(t, h.onGenesis(), 1000))
	h.bid(t, h.wish(nil))
	h.node.mu.Lock()
	h.node.exiting = true
	h.node.mu.Unlock()
	must(t, h.stopRelay())
	h.startRelay(t)
	got := h.get(t, "/readyz", nil)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "the builder leaves") {
		t.Errorf("/readyz: %s", got)
	}
	h.knows(t, h.onGenesis())
	h.taken(t, h.block(t, h.onGenesis(), 2000))
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a bid: %s", got)
	}
}

// wei is an amount in Gwei, and half of one more.
func wei(gwei uint64) *uint256.Int {
	if gwei == 0 {
		return new(uint256.Int)
	}
	return uint256.NewInt(gwei*params.GWei + params.GWei/2)
}
