package beacon

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

var stakedKey = bls.Derive("staked builder", 0)

// stakedForTests are the builders of all networks of these tests.
func stakedForTests() []gloas.Builder {
	return []gloas.Builder{{
		Pubkey: stakedKey.PublicKey(), Balance: 100_000_000_000, WithdrawableEpoch: gloas.FarFuture,
		ExecutionAddress: bellatrix.ExecutionAddress{0xb1},
	}}
}

func (n *network) post(path string, header http.Header, body []byte) (int, http.Header, []byte) {
	n.t.Helper()
	request, err := http.NewRequest(http.MethodPost, n.url+path, bytes.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	request.Header = header
	header.Set("Eth-Consensus-Version", "gloas")
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/octet-stream")
	}
	recorder := httptest.NewRecorder()
	n.beacon.Handler().ServeHTTP(recorder, request)
	return recorder.Code, recorder.Header(), recorder.Body.Bytes()
}

// must encodes a value that can be encoded.
func encoded(t *testing.T, raw []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// producedIn fetches the block of a slot, and the URL of the builder whose bid it has.
func (n *network) producedIn(slot phase0.Slot, config *gloas.BuilderConfig) (*gloas.BeaconBlock, string) {
	n.t.Helper()
	index, _ := n.beacon.Duty(slot)
	epoch := n.spec.EpochOf(slot)
	reveal := n.beacon.ValidatorKey(index).Sign(eth.SigningRoot(epochRoot(epoch), n.spec.RandaoDomain(epoch)))
	raw, err := gloas.Mainnet.BuilderConfig.Encode(config)
	status, header, body := n.post(fmt.Sprintf("/eth/v4/validator/blocks/%d?randao_reveal=%#x", slot, reveal[:]),
		http.Header{"Accept": {"application/octet-stream"}}, encoded(n.t, raw, err))
	if status != http.StatusOK {
		n.t.Fatalf("slot %d: status %d: %.300s", slot, status, body)
	}
	block, err := gloas.Mainnet.BeaconBlock.Decode(body)
	if err != nil {
		n.t.Fatal(err)
	}
	return block, header.Get(builderURL)
}

// publishGloas signs and publishes a block, and returns its root.
func (n *network) publishGloas(block *gloas.BeaconBlock, header http.Header) (phase0.Root, int, []byte) {
	n.t.Helper()
	root, err := gloas.Mainnet.BeaconBlock.Root(block)
	if err != nil {
		n.t.Fatal(err)
	}
	signature := n.beacon.ValidatorKey(block.ProposerIndex).Sign(eth.SigningRoot(root, n.spec.ProposerDomain(block.Slot)))
	raw, err := gloas.Mainnet.SignedBeaconBlock.Encode(&gloas.SignedBeaconBlock{Message: block, Signature: signature})
	status, _, body := n.post("/eth/v2/beacon/blocks", header, encoded(n.t, raw, err))
	return root, status, body
}

// mustPublish publishes a block that must be taken.
func (n *network) mustPublish(block *gloas.BeaconBlock) phase0.Root {
	n.t.Helper()
	root, status, body := n.publishGloas(block, http.Header{})
	if status != http.StatusOK {
		n.t.Fatalf("slot %d: block: status %d: %.300s", block.Slot, status, body)
	}
	return root
}

// reveal signs an envelope under a key and publishes it without blobs.
func (n *network) reveal(envelope *gloas.ExecutionPayloadEnvelope, key *bls.SecretKey) (int, []byte) {
	n.t.Helper()
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(envelope)
	if err != nil {
		n.t.Fatal(err)
	}
	signature := key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(n.spec, envelope.Payload.SlotNumber)))
	raw, err := gloas.Mainnet.SignedExecutionPayloadEnvelope.Encode(
		&gloas.SignedExecutionPayloadEnvelope{Message: envelope, Signature: signature})
	status, _, body := n.post("/eth/v1/beacon/execution_payload_envelopes", http.Header{blobsHeader: {"false"}},
		encoded(n.t, raw, err))
	return status, body
}

// own returns the envelope of a block that the node has built.
func (n *network) own(root phase0.Root, slot phase0.Slot) *gloas.ExecutionPayloadEnvelope {
	n.t.Helper()
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/eth/v1/validator/execution_payload_envelopes/%d/%#x",
		n.url, slot, root[:]), http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/octet-stream")
	status, raw := n.do(request)
	if status != http.StatusOK {
		n.t.Fatalf("own envelope: status %d: %.300s", status, raw)
	}
	envelope, err := gloas.Mainnet.ExecutionPayloadEnvelope.Decode(raw)
	if err != nil {
		n.t.Fatal(err)
	}
	return envelope
}

// endSlot lets attesters and the payload committee of a slot vote.
func (n *network) endSlot(slot phase0.Slot) {
	n.t.Helper()
	n.clock.now = n.spec.SlotStart(slot).Add(9 * time.Second)
	n.beacon.choice.attest(slot)
	n.beacon.committeeVotes(slot)
	n.beacon.followAfter(n.t.Context(), slot)
}

// selfBuild proposes this node's own payload, and reveals it if told to.
func (n *network) selfBuild(slot phase0.Slot, reveals bool) *gloas.BeaconBlock {
	n.t.Helper()
	n.begin(slot)
	block, _ := n.producedIn(slot, new(gloas.BuilderConfig))
	root := n.mustPublish(block)
	if reveals {
		if status, body := n.reveal(n.own(root, slot), n.beacon.ValidatorKey(block.ProposerIndex)); status != http.StatusOK {
			n.t.Fatalf("slot %d: envelope: status %d: %.300s", slot, status, body)
		}
	}
	n.endSlot(slot)
	return block
}

// wantStatus compares whether the chain has the payload of a slot, and how many have seen it.
func (n *network) wantStatus(slot phase0.Slot, full bool, votes int) {
	n.t.Helper()
	block, ok := n.beacon.Canonical(slot)
	if !ok {
		n.t.Fatalf("slot %d is missed", slot)
	}
	sale, _ := n.beacon.SaleOf(block)
	if sale.Full != full || sale.Present != votes {
		n.t.Errorf("slot %d: full %v with %d votes, want %v with %d", slot, sale.Full, sale.Present, full, votes)
	}
}

// A chain of this node's own payloads: each is FULL. One that is withheld is EMPTY, and the next
// block builds on the payload before, with the same withdrawals.
func TestPayloadsComeInEnvelopes(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	first := n.selfBuild(1, true)
	second := n.selfBuild(2, false)
	third := n.selfBuild(3, true)
	fourth := n.selfBuild(4, true)
	for _, slot := range []phase0.Slot{1, 3, 4} {
		n.wantStatus(slot, true, committeeSize)
	}
	n.wantStatus(2, false, 0)
	hash := func(b *gloas.BeaconBlock) phase0.Hash32 { return b.Body.SignedExecutionPayloadBid.Message.BlockHash }
	on := func(b *gloas.BeaconBlock) phase0.Hash32 {
		return b.Body.SignedExecutionPayloadBid.Message.ParentBlockHash
	}
	if on(second) != hash(first) || on(third) != hash(first) || on(fourth) != hash(third) {
		t.Error("blocks do not build on the newest payload that was revealed")
	}
	if votes := fourth.Body.PayloadAttestations; len(votes) != 1 || votes[0].AggregationBits.Count() != committeeSize ||
		!votes[0].Data.PayloadPresent {
		t.Errorf("slot 4 has the votes %v, want one aggregate of all members", votes)
	}
	withdrawn := map[uint64]bool{}
	for _, slot := range []phase0.Slot{1, 3, 4} {
		block, _ := n.beacon.Canonical(slot)
		for _, w := range n.beacon.market.revealed[block.Root].envelope.Message.Payload.Withdrawals {
			withdrawn[uint64(w.Index)] = true
		}
	}
	if len(withdrawn) != 12 || !withdrawn[0] || !withdrawn[11] {
		t.Errorf("withdrawals %v, want 0 to 11 once each", withdrawn)
	}
}

// Builders learn that they build on a payload as soon as it is there in time. If the committee then
// says nothing of it, they learn that they build without it.
func TestRevealedPayloadIsAnnounced(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	n.begin(1)
	block, _ := n.producedIn(1, new(gloas.BuilderConfig))
	root := n.mustPublish(block)
	on := func(status epbs.Status) bool { return n.beacon.announced[attributesKey{2, root, status}] }
	if on(epbs.Full) || on(epbs.Empty) {
		t.Error("slot 2 is announced while the payload of slot 1 is awaited")
	}
	n.clock.now = n.spec.SlotStart(1).Add(2 * time.Second)
	if status, body := n.reveal(n.own(root, 1), n.beacon.ValidatorKey(block.ProposerIndex)); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	if !on(epbs.Full) || on(epbs.Empty) {
		t.Errorf("revealed: on FULL %v, on EMPTY %v", on(epbs.Full), on(epbs.Empty))
	}
	n.clock.now = n.spec.SlotStart(1).Add(9 * time.Second)
	n.beacon.followAfter(t.Context(), 1)
	if !on(epbs.Empty) {
		t.Error("the committee was absent, and slot 2 is not announced on EMPTY")
	}
	if next := n.selfBuild(2, true); next.Body.SignedExecutionPayloadBid.Message.ParentBlockHash ==
		block.Body.SignedExecutionPayloadBid.Message.BlockHash {
		t.Error("slot 2 builds on a payload of which the committee says nothing")
	}
}

// A payload that comes when the slot is half over is imported, but the committee has not seen it in
// time, so that the next block leaves it out.
func TestLatePayloadIsLeftOut(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	n.begin(1)
	block, _ := n.producedIn(1, new(gloas.BuilderConfig))
	root := n.mustPublish(block)
	n.clock.now = n.spec.SlotStart(1).Add(7 * time.Second)
	if status, body := n.reveal(n.own(root, 1), n.beacon.ValidatorKey(block.ProposerIndex)); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	n.endSlot(1)
	next := n.selfBuild(2, true)
	if bid := next.Body.SignedExecutionPayloadBid.Message; bid.ParentBlockHash != n.beacon.choice.genesis.BlockHash {
		t.Error("slot 2 builds on a payload that was late")
	}
	n.wantStatus(1, false, 0)
	n.wantStatus(2, true, committeeSize)
}

// Blocks and envelopes that break a rule are refused and change nothing.
func TestWrongBlocksAndEnvelopes(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	n.begin(1)
	for name, bend := range map[string]func(*gloas.BeaconBlock){
		"another parent hash": func(b *gloas.BeaconBlock) { b.Body.SignedExecutionPayloadBid.Message.ParentBlockHash[0]++ },
		"another randao":      func(b *gloas.BeaconBlock) { b.Body.SignedExecutionPayloadBid.Message.PrevRandao[0]++ },
		"no such builder":     func(b *gloas.BeaconBlock) { b.Body.SignedExecutionPayloadBid.Message.BuilderIndex = 7 },
		"unsigned bid":        func(b *gloas.BeaconBlock) { b.Body.SignedExecutionPayloadBid.Message.BuilderIndex = 0 },
		"a value of nobody":   func(b *gloas.BeaconBlock) { b.Body.SignedExecutionPayloadBid.Message.Value = 1 },
		"another proposer":    func(b *gloas.BeaconBlock) { b.ProposerIndex ^= 1 },
		"foreign votes": func(b *gloas.BeaconBlock) {
			aggregate(&b.Body.PayloadAttestations, gloas.PayloadAttestationData{Slot: 5}).AggregationBits.SetBitAt(1, true)
		},
	} {
		block, _ := n.producedIn(1, new(gloas.BuilderConfig))
		bend(block)
		if _, status, body := n.publishGloas(block, http.Header{}); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
	}
	block, _ := n.producedIn(1, new(gloas.BuilderConfig))
	root := n.mustPublish(block)
	proposer := n.beacon.ValidatorKey(block.ProposerIndex)
	for name, bend := range map[string]func(*gloas.ExecutionPayloadEnvelope){
		"another block":       func(e *gloas.ExecutionPayloadEnvelope) { e.BeaconBlockRoot[0]++ },
		"another access list": func(e *gloas.ExecutionPayloadEnvelope) { e.Payload.BlockAccessList = []byte{0xc1, 0xc0} },
		"another gas limit":   func(e *gloas.ExecutionPayloadEnvelope) { e.Payload.GasLimit++ },
		"no withdrawals":      func(e *gloas.ExecutionPayloadEnvelope) { e.Payload.Withdrawals = nil },
		"another builder":     func(e *gloas.ExecutionPayloadEnvelope) { e.BuilderIndex = 0 },
	} {
		envelope := n.own(root, 1)
		bend(envelope)
		if status, body := n.reveal(envelope, proposer); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
	}
	if status, body := n.reveal(n.own(root, 1), stakedKey); status != http.StatusBadRequest {
		t.Errorf("signed by another key: status %d: %s", status, body)
	}
	if n.beacon.choice.tree.Revealed(root) {
		t.Error("a wrong envelope counts")
	}
}

// stakedBuilder answers requests for bids with the payload of a node, and keeps the blocks that
// come.
type stakedBuilder struct {
	n       *network
	payment phase0.Gwei
	value   phase0.Gwei
	bend    func(*gloas.ExecutionPayloadBid)
	built   *chain.Built
	blocks  int
}

func (s *stakedBuilder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/beacon_blocks") {
		s.blocks++
		w.WriteHeader(http.StatusAccepted)
		return
	}
	b := s.n.beacon
	b.mu.RLock()
	slot := b.cfg.Spec.SlotAt(b.cfg.Clock.Now())
	parent, status := b.choice.proposerHead(slot)
	a := b.attributesOf(slot, parent, status)
	b.mu.RUnlock()
	built, err := b.ownPayload(r.Context(), a)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	bid, _, err := selfBid(a, built)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.built = built
	bid.Message.BuilderIndex, bid.Message.Value, bid.Message.ExecutionPayment = 0, s.value, s.payment
	if s.bend != nil {
		s.bend(bid.Message)
	}
	root, _ := gloas.Mainnet.ExecutionPayloadBid.Root(bid.Message)
	bid.Signature = stakedKey.Sign(eth.SigningRoot(root, gloas.BuilderDomain(s.n.spec, slot)))
	raw, _ := gloas.Mainnet.SignedExecutionPayloadBid.Encode(bid)
	_, _ = w.Write(raw)
}

func configFor(url string) *gloas.BuilderConfig {
	return &gloas.BuilderConfig{Builders: []*gloas.BuilderEntry{{
		URL: url, Auth: &gloas.SignedBuilderRequestAuth{Message: &gloas.BuilderRequestAuth{Data: []byte("b"), Slot: 1}},
		MaxExecutionPayment: 500, BuilderBoostFactor: 100,
	}}}
}

// A builder's bid wins if it is worth more than the node's own payload; its value is paid from its
// stake once the next block builds on its payload, and the block is handed to it.
func TestBuildersBidIsTaken(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	builder := &stakedBuilder{n: n, value: 700, payment: 300}
	server := httptest.NewServer(builder)
	t.Cleanup(server.Close)
	n.begin(1)
	block, url := n.producedIn(1, configFor(server.URL))
	if bid := block.Body.SignedExecutionPayloadBid.Message; bid.Value != 700 || url != server.URL {
		t.Fatalf("value %d of %q, want the builder's bid", bid.Value, url)
	}
	root, status, body := n.publishGloas(block, http.Header{builderURL: {url}})
	if status != http.StatusOK || builder.blocks != 1 {
		t.Fatalf("status %d: %s; %d blocks reached the builder", status, body, builder.blocks)
	}
	full, requests := payload.JoinGloas(builder.built.Payload, builder.built.Requests, builder.built.Gloas)
	if status, body := n.reveal(&gloas.ExecutionPayloadEnvelope{
		Payload: full, ExecutionRequests: requests, BeaconBlockRoot: root, ParentBeaconBlockRoot: block.ParentRoot,
	}, stakedKey); status != http.StatusOK {
		t.Fatalf("envelope: status %d: %s", status, body)
	}
	n.endSlot(1)
	n.wantStatus(1, true, committeeSize)
	next := n.selfBuild(2, true)
	paid := n.beacon.market.revealed[n.beacon.Head().Root].envelope.Message.Payload.Withdrawals[0]
	if next.Slot != 2 || paid.Amount != 700 || uint64(paid.ValidatorIndex) != 1<<40 {
		t.Errorf("the first withdrawal of slot 2 is %v, want 700 Gwei of builder 0", paid)
	}
	if balance, owed, err := n.beacon.BuilderBalance(0); err != nil || balance != 100_000_000_000-700 || owed != 0 {
		t.Errorf("balance %d, owed %d, error %v", balance, owed, err)
	}
}

// Bids that cannot stand in a block, that come late, or that a proposer does not want, leave the
// node's own payload.
func TestBidsThatAreNotTaken(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	builder := &stakedBuilder{n: n}
	server := httptest.NewServer(builder)
	t.Cleanup(server.Close)
	n.begin(1)
	for name, change := range map[string]func(*gloas.BuilderConfig){
		"no payment at all": func(*gloas.BuilderConfig) {},
		"beyond its stake":  func(*gloas.BuilderConfig) { builder.value = 99_500_000_000 },
		"another fee recipient": func(*gloas.BuilderConfig) {
			builder.bend = func(b *gloas.ExecutionPayloadBid) { b.FeeRecipient[0]++ }
		},
		"another gas limit": func(*gloas.BuilderConfig) {
			builder.bend = func(b *gloas.ExecutionPayloadBid) { b.GasLimit++ }
		},
		"another slot": func(*gloas.BuilderConfig) {
			builder.bend = func(b *gloas.ExecutionPayloadBid) { b.Slot++ }
		},
		"below the least bid":    func(c *gloas.BuilderConfig) { c.Builders[0].MinBid = 1000 },
		"the payment is capped":  func(c *gloas.BuilderConfig) { builder.value = 0; c.Builders[0].MaxExecutionPayment = 0 },
		"a key of somebody else": func(c *gloas.BuilderConfig) { c.Builders[0].BuilderPubkeys = []phase0.BLSPubKey{{1}} },
		"the own one preferred":  func(c *gloas.BuilderConfig) { c.Builders[0].BuilderBoostFactor = 0 },
	} {
		builder.value, builder.payment, builder.bend = 700, 100, nil
		if name == "no payment at all" {
			builder.value, builder.payment = 0, 0
		}
		config := configFor(server.URL)
		change(config)
		block, url := n.producedIn(1, config)
		if bid := block.Body.SignedExecutionPayloadBid.Message; bid.BuilderIndex != gloas.SelfBuild || url != "" {
			t.Errorf("%s: the bid was taken", name)
		}
	}
}
