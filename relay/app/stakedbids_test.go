package app_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

const (
	otherIndex    = 9
	stakedBidPath = "/relay/v1/builder/bids"
	envelopePath  = "/relay/v1/builder/envelopes"
)

var otherKey = bls.Derive("another staked builder", 0)

// goodBuilder may bid up to 100 ETH.
func goodBuilder() *gloas.Builder {
	return &gloas.Builder{Pubkey: otherKey.PublicKey(), Balance: 101_000_000_000, DepositEpoch: 2,
		WithdrawableEpoch: gloas.FarFuture}
}

// takingStakedBids has the relay take bids of staked builders.
func takingStakedBids(c *app.Config) { c.Gloas.StakedBids, c.AdminToken = true, operatorToken }

// stakedBid is a bid of the other builder for a block on genesis, with the payload.
func (h *relayInGloas) stakedBid(t *testing.T, s *gloas.SignedBidSubmissionV6, value,
	payment phase0.Gwei) *gloas.SignedBuilderBid {
	t.Helper()
	p := s.ExecutionPayload
	requests, err := gloas.Mainnet.ExecutionRequests.Root(s.ExecutionRequests)
	must(t, err)
	b := &gloas.SignedBuilderBid{
		Bid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
			ParentBlockHash: p.ParentHash, ParentBlockRoot: h.onGenesis().root, BlockHash: p.BlockHash,
			PrevRandao: phase0.Root(p.PrevRandao), FeeRecipient: s.Message.ProposerFeeRecipient, GasLimit: p.GasLimit,
			BuilderIndex: otherIndex, Slot: h.slot, Value: value, ExecutionPayment: payment,
			BlobKZGCommitments: s.BlobsBundle.Commitments, ExecutionRequestsRoot: requests,
		}},
		Contents: []*gloas.BidContents{{ExecutionPayload: p, ExecutionRequests: s.ExecutionRequests,
			KZGProofs: s.BlobsBundle.Proofs, Blobs: s.BlobsBundle.Blobs}},
	}
	h.signBid(t, b, otherKey)
	return b
}

func (h *relayInGloas) signBid(t *testing.T, b *gloas.SignedBuilderBid, key *bls.SecretKey) {
	t.Helper()
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(b.Bid.Message)
	must(t, err)
	b.Bid.Signature = key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(h.spec, b.Bid.Message.Slot)))
}

// alone is a bid without its payload.
func alone(b *gloas.SignedBuilderBid) *gloas.SignedBuilderBid {
	return &gloas.SignedBuilderBid{Bid: b.Bid}
}

func (h *relayInGloas) offer(t *testing.T, b *gloas.SignedBuilderBid) answer {
	t.Helper()
	raw, err := gloas.Mainnet.SignedBuilderBid.Encode(b)
	must(t, err)
	return h.post(t, stakedBidPath, sszHeader(eth.Gloas), raw)
}

func (h *relayInGloas) bidTaken(t *testing.T, b *gloas.SignedBuilderBid) {
	t.Helper()
	if got := h.offer(t, b); got.status != http.StatusOK || len(got.body) > 0 {
		t.Fatalf("a good bid: %s", got)
	}
}

// wantServed requires that the proposer is served exactly a builder's bid, in both encodings.
func (h *relayInGloas) wantServed(t *testing.T, b *gloas.SignedBuilderBid) {
	t.Helper()
	want, err := gloas.Mainnet.SignedExecutionPayloadBid.Encode(b.Bid)
	must(t, err)
	inSSZ := h.ask(t, h.wish(func(r *wish) { r.header.Set("Accept", "application/octet-stream") }))
	if inSSZ.status != http.StatusOK || string(inSSZ.body) != string(want) {
		t.Errorf("served %s, want %x", inSSZ, want)
	}
	var document struct {
		Data json.RawMessage `json:"data"`
	}
	inJSON := h.ask(t, h.wish(nil))
	if inJSON.status != http.StatusOK {
		t.Fatalf("no bid: %s", inJSON)
	}
	must(t, json.Unmarshal(inJSON.body, &document))
	signed, err := gloas.Mainnet.SignedExecutionPayloadBid.FromJSON(document.Data)
	must(t, err)
	if !reflect.DeepEqual(signed, b.Bid) {
		t.Errorf("served %s", inJSON)
	}
	h.given = b.Bid.Signature
}

// A bid that a staked builder has signed itself is served as it came, alone or with its payload.
// It is listed as received.
func TestStakedBidIsServedUnchanged(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.begun(t)
	b := h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0)
	h.bidTaken(t, alone(b))
	h.wantServed(t, b)
	raised := h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 1000)
	raw, err := gloas.Mainnet.SignedBuilderBid.ToJSON(raised)
	must(t, err)
	for range 2 { // the same bid again has the same answer
		if got := h.post(t, stakedBidPath, versionedJSON(), raw); got.status != http.StatusOK {
			t.Fatalf("a good bid in JSON: %s", got)
		}
	}
	h.wantServed(t, raised)
	h.counts(t, `gavel_relay_gloas_staked_bids_total{result="taken"} 3`)
	h.counts(t, `gavel_relay_gloas_bids_total{result="signed"} 4`)
	var values []string
	poll(t, "both bids are listed as received", func() bool {
		values = nil
		for _, row := range h.listed(t, receivedPath+"?slot=1") {
			values = append(values, row["value"].(string))
		}
		return len(values) == 2
	})
	slices.Sort(values)
	if !slices.Equal(values, []string{"1700000000000", "700000000000"}) {
		t.Errorf("received at %v wei", values)
	}
}

// A bid that came alone may be followed by its payload, and no other way round.
func TestPayloadFollowsItsBid(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.begun(t)
	b := h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0)
	h.bidTaken(t, alone(b))
	h.bidTaken(t, b)
	h.bidTaken(t, alone(b))
	_, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.envelopeTaken(t, h.blinded(t, b, root))
}

// Blocks that the relay bids for, and bids that builders have signed, are in one auction.
func TestStakedBidsAndBlocksAreCompared(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.begun(t)
	h.taken(t, h.block(t, h.onGenesis(), 1000))
	equal := h.stakedBid(t, h.block(t, h.onGenesis(), 1), 1000, 0)
	h.bidTaken(t, alone(equal))
	if m := h.bid(t, h.wish(nil)); m.ExecutionPayment != 1000 { // of two that are worth the same, the own one
		t.Errorf("bid %+v", m)
	}
	more := h.stakedBid(t, h.block(t, h.onGenesis(), 1), 1001, 0)
	h.bidTaken(t, alone(more))
	h.wantServed(t, more)
	h.taken(t, h.block(t, h.onGenesis(), 2000))
	if m := h.bid(t, h.wish(nil)); m.ExecutionPayment != 2000 {
		t.Errorf("bid %+v", m)
	}
	both := h.stakedBid(t, h.block(t, h.onGenesis(), 1500), 501, 1500)
	h.bidTaken(t, both)
	h.wantServed(t, both)
	h.taken(t, h.block(t, h.onGenesis(), 1200)) // the builder takes back its block of 2000
	// What the proposer does not count within the payload is not served, whoever has signed it.
	for _, row := range []struct {
		most phase0.Gwei
		own  phase0.Gwei // 0 for the builder's
	}{{1500, 0}, {1499, 1200}} {
		if got := h.prefers(t, h.wish(nil), row.most); got.status != http.StatusAccepted {
			t.Fatalf("preferences: %s", got)
		}
		if row.own == 0 {
			h.wantServed(t, both)
		} else if m := h.bid(t, h.wish(nil)); m.ExecutionPayment != row.own {
			t.Errorf("at most %d: bid %+v", row.most, m)
		}
	}
}

// Bids that are wrong are refused by name, and never served.
func TestWrongStakedBids(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.begun(t)
	s := h.block(t, h.onGenesis(), 1000)
	for name, row := range map[string]struct {
		change  func(*gloas.ExecutionPayloadBid)
		key     *bls.SecretKey
		alone   bool
		refusal relay.Refusal
	}{
		"another's signature": {func(*gloas.ExecutionPayloadBid) {}, stranger, true, relay.StakedBidSignature},
		"an unknown builder": {func(m *gloas.ExecutionPayloadBid) { m.BuilderIndex = 10 }, otherKey, true,
			relay.StakedBidBuilder},
		"the relay's builder": {func(m *gloas.ExecutionPayloadBid) { m.BuilderIndex = stakedIndex }, stakedKey, true,
			relay.StakedBidBuilder},
		"a proposer that builds itself": {func(m *gloas.ExecutionPayloadBid) { m.BuilderIndex = gloas.SelfBuild }, otherKey,
			true, relay.StakedBidBuilder},
		"another fee recipient": {func(m *gloas.ExecutionPayloadBid) { m.FeeRecipient[0]++ }, otherKey, true,
			relay.StakedBidTerms},
		"another RANDAO mix": {func(m *gloas.ExecutionPayloadBid) { m.PrevRandao[0]++ }, otherKey, true,
			relay.StakedBidTerms},
		"its own parent": {func(m *gloas.ExecutionPayloadBid) { m.BlockHash = m.ParentBlockHash }, otherKey, true,
			relay.StakedBidTerms},
		"too many blobs": {func(m *gloas.ExecutionPayloadBid) {
			for range h.spec.MaxBlobs(h.slot) {
				m.BlobKZGCommitments = append(m.BlobKZGCommitments, m.BlobKZGCommitments[0])
			}
		}, otherKey, true, relay.StakedBidTerms},
		"nothing": {func(m *gloas.ExecutionPayloadBid) { m.Value = 0 }, otherKey, true, relay.StakedBidTerms},
		"2^64 Gwei": {func(m *gloas.ExecutionPayloadBid) { m.Value, m.ExecutionPayment = 1<<63, 1<<63 }, otherKey, false,
			relay.StakedBidTerms},
		"another parent root": {func(m *gloas.ExecutionPayloadBid) { m.ParentBlockRoot[0]++ }, otherKey, true,
			relay.StakedBidParent},
		"another parent hash": {func(m *gloas.ExecutionPayloadBid) { m.ParentBlockHash[0]++ }, otherKey, true,
			relay.StakedBidParent},
		"a promise alone": {func(m *gloas.ExecutionPayloadBid) { m.ExecutionPayment = 1 }, otherKey, true,
			relay.StakedBidPromise},
		"more than its balance": {func(m *gloas.ExecutionPayloadBid) { m.Value = 100_000_000_001 }, otherKey, true,
			relay.StakedBidBalance},
		"a payment that the block does not make": {func(m *gloas.ExecutionPayloadBid) { m.ExecutionPayment = 1001 },
			otherKey, false, relay.SubmissionInvalid},
		"a slot that is over":     {func(m *gloas.ExecutionPayloadBid) { m.Slot = 0 }, otherKey, true, relay.StakedBidSlot},
		"a slot that is far away": {func(m *gloas.ExecutionPayloadBid) { m.Slot = 2 }, otherKey, true, relay.StakedBidSlot},
		"another block hash": {func(m *gloas.ExecutionPayloadBid) { m.BlockHash[0]++ }, otherKey, false,
			relay.StakedBidContents},
		"another gas limit": {func(m *gloas.ExecutionPayloadBid) { m.GasLimit++ }, otherKey, false,
			relay.StakedBidContents},
		"other requests": {func(m *gloas.ExecutionPayloadBid) { m.ExecutionRequestsRoot[0]++ }, otherKey, false,
			relay.StakedBidContents},
		"other commitments": {func(m *gloas.ExecutionPayloadBid) { m.BlobKZGCommitments = nil }, otherKey, false,
			relay.StakedBidContents},
	} {
		t.Run(name, func(t *testing.T) {
			b := h.stakedBid(t, s, 700, 0)
			row.change(b.Bid.Message)
			h.signBid(t, b, row.key)
			if row.alone {
				b = alone(b)
			}
			h.offer(t, b).wantRefusal(t, row.refusal, "")
		})
	}
	raw, err := gloas.Mainnet.SignedBuilderBid.Encode(h.stakedBid(t, s, 700, 0))
	must(t, err)
	for name, row := range map[string]struct {
		header  http.Header
		body    []byte
		refusal relay.Refusal
	}{
		"without a version": {http.Header{"Content-Type": {"application/octet-stream"}}, raw, relay.UnknownFork},
		"of another fork":   {sszHeader(eth.Fulu), raw, relay.WrongFork},
		"a byte more":       {sszHeader(eth.Gloas), append(slices.Clone(raw), 0), relay.Malformed},
		"half of it":        {sszHeader(eth.Gloas), raw[:len(raw)/2], relay.Malformed},
		"as text": {http.Header{"Content-Type": {"text/plain"}, "Eth-Consensus-Version": {"gloas"}}, raw,
			relay.UnsupportedMediaType},
		"SSZ as JSON": {versionedJSON(), raw, relay.Malformed},
		"nulls":       {versionedJSON(), []byte(`{"bid":null,"contents":[null]}`), relay.Malformed},
		"too much":    {sszHeader(eth.Gloas), make([]byte, 17<<20), relay.BodyTooLarge},
	} {
		t.Run(name, func(t *testing.T) { h.post(t, stakedBidPath, row.header, row.body).wantRefusal(t, row.refusal, "") })
	}
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a wrong bid is served: %s", got)
	}
}

// A payload of which anything was changed is not that of the bid, though the bid is right.
func TestChangedPayloadIsNotTaken(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.begun(t)
	s := h.block(t, h.onGenesis(), 1000)
	raw, err := gloas.Mainnet.SignedBuilderBid.Encode(h.stakedBid(t, s, 700, 1000))
	must(t, err)
	check := func(name string, change func(*gloas.BidContents)) {
		b, err := gloas.Mainnet.SignedBuilderBid.Decode(raw)
		must(t, err)
		change(b.Contents[0])
		if got := h.offer(t, b); got.status != http.StatusBadRequest {
			t.Errorf("another %s: %s", name, got)
		}
	}
	kind := reflect.TypeFor[gloas.ExecutionPayload]()
	for i := range kind.NumField() {
		check(kind.Field(i).Name, func(c *gloas.BidContents) {
			field := reflect.ValueOf(c.ExecutionPayload).Elem().Field(i)
			switch name := kind.Field(i).Name; {
			case field.Kind() == reflect.Array:
				field.Index(field.Len() - 1).SetUint(field.Index(field.Len()-1).Uint() ^ 1)
			case field.Kind() == reflect.Uint64:
				field.SetUint(field.Uint() + 1)
			case name == "BaseFeePerGas":
				c.ExecutionPayload.BaseFeePerGas.AddUint64(c.ExecutionPayload.BaseFeePerGas, 1)
			case name == "Withdrawals":
				field.Set(reflect.Append(field, reflect.New(field.Type().Elem().Elem())))
			default:
				field.Set(field.Slice(0, field.Len()-1))
			}
		})
	}
	check("exit", func(c *gloas.BidContents) {
		c.ExecutionRequests.BuilderExits = append(c.ExecutionRequests.BuilderExits, &gloas.BuilderExitRequest{})
	})
	check("blob", func(c *gloas.BidContents) { c.Blobs[0][1] ^= 1 })
	check("proof", func(c *gloas.BidContents) { c.KZGProofs[0][1] ^= 1 })
	check("number of blobs", func(c *gloas.BidContents) { c.Blobs = nil })
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a wrong bid is served: %s", got)
	}
	b, err := gloas.Mainnet.SignedBuilderBid.Decode(raw)
	must(t, err)
	h.bidTaken(t, b) // wrong ones do not keep out the right one
	h.wantServed(t, b)
}

// A builder's bid can only rise. A block with what it has bid before is taken all the same.
func TestStakedBidOnlyRises(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.begun(t)
	s := h.block(t, h.onGenesis(), 1000)
	first, lower, same := h.stakedBid(t, s, 700, 0), h.stakedBid(t, s, 699, 0), h.stakedBid(t, s, 200, 500)
	h.bidTaken(t, alone(first))
	h.offer(t, alone(lower)).wantRefusal(t, relay.StakedBidNotHigher, "")
	h.offer(t, same).wantRefusal(t, relay.StakedBidNotHigher, "")
	h.wantServed(t, first)
	given := h.given
	higher := h.stakedBid(t, s, 701, 0)
	h.bidTaken(t, alone(higher))
	h.wantServed(t, higher)
	h.into(time.Second)
	h.given = given
	raw, _ := h.signedBlock(t, first.Bid.Message, 1, h.proposer())
	if got := h.propose(t, raw); got.status != http.StatusAccepted {
		t.Errorf("a block with the bid before the last: %s", got)
	}
}

// A builder that may not bid, or cannot pay what it bids, is refused.
func TestBuildersThatMayNotBid(t *testing.T) {
	for name, row := range map[string]struct {
		spoil   func(*gloas.Builder)
		refusal relay.Refusal
	}{
		"it leaves":                {func(b *gloas.Builder) { b.WithdrawableEpoch = 9 }, relay.StakedBidBuilder},
		"its deposit is not final": {func(b *gloas.Builder) { b.DepositEpoch = 3 }, relay.StakedBidBuilder},
		"another version":          {func(b *gloas.Builder) { b.Version = 1 }, relay.StakedBidBuilder},
		"another key":              {func(b *gloas.Builder) { b.Pubkey = stranger.PublicKey() }, relay.StakedBidSignature},
		"no balance":               {func(b *gloas.Builder) { b.Balance = 1_000_000_699 }, relay.StakedBidBalance},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRelayInGloas(t, takingStakedBids)
			h.node.mu.Lock()
			row.spoil(h.node.other)
			h.node.mu.Unlock()
			must(t, h.stopRelay())
			h.startRelay(t)
			h.begun(t)
			b := alone(h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0))
			h.offer(t, b).wantRefusal(t, row.refusal, "")
		})
	}
}

// Strangers that name builders which are not there cause no requests to beacon nodes, but for one
// with the next head; after that a new builder is known.
func TestUnknownBuildersAreAskedForOnce(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	h.node.mu.Lock()
	late := h.node.other
	h.node.other = nil
	h.node.mu.Unlock()
	must(t, h.stopRelay())
	h.startRelay(t)
	h.begun(t)
	b := alone(h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0))
	h.node.mu.Lock()
	before := h.node.builderRequests
	h.node.other = late
	h.node.mu.Unlock()
	for range 100 {
		h.offer(t, b).wantRefusal(t, relay.StakedBidBuilder, "")
	}
	h.node.mu.Lock()
	if h.node.builderRequests != before {
		t.Errorf("%d requests to the beacon node", h.node.builderRequests-before)
	}
	h.node.mu.Unlock()
	h.slot = 0
	h.isHead(phase0.Root{0xbb})
	h.slot = 1
	poll(t, "the builder is known", func() bool { return h.offer(t, b).status == http.StatusOK })
	h.wantServed(t, b)
}

// Without the flag the endpoints are not there, and nothing else changes.
func TestStakedBidsAreOffByDefault(t *testing.T) {
	h := newRelayInGloas(t, nil)
	h.begun(t)
	b := h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0)
	h.offer(t, b).wantRefusal(t, relay.NotFound, "")
	h.post(t, envelopePath, sszHeader(eth.Gloas), nil).wantRefusal(t, relay.NotFound, "")
	h.given = b.Bid.Signature
	raw, _ := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.into(time.Second)
	h.propose(t, raw).wantRefusal(t, relay.PayloadUnknown, "")
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if h.node.builderRequests != 1 {
		t.Errorf("%d requests for builders", h.node.builderRequests)
	}
}

// A builder that the operator has blocked is refused.
func TestBlockedStakedBuilder(t *testing.T) {
	h := newRelayInGloas(t, func(c *app.Config) {
		takingStakedBids(c)
		c.Builders = []relay.Builder{{Name: "other", Pubkeys: []phase0.BLSPubKey{otherKey.PublicKey()}, Blocked: true}}
	})
	h.begun(t)
	h.offer(t, alone(h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0))).
		wantRefusal(t, relay.SubmissionBlocked, "")
}

// versionedJSON are the headers of a body of gloas in JSON.
func versionedJSON() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Eth-Consensus-Version": {"gloas"}}
}

// contains says whether a text is in one of the relay's metrics.
func (h *relayInGloas) contains(t *testing.T, metric string) bool {
	t.Helper()
	return strings.Contains(string(h.admin(t, "GET /metrics", "").body), metric)
}
