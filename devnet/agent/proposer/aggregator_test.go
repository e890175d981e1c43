package proposer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	builderapi "github.com/attestantio/go-builder-client/api"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// relay is a scripted relay in memory.
type relay struct {
	name string
	// bid is offered; nil offers none.
	bid *builderspec.VersionedSignedBuilderBid
	// hangs never answers.
	hangs bool
	// status, if set, is the answer to everything.
	status int
	// reveals is v1's answer.
	reveals *builderapi.VersionedSubmitBlindedBlockResponse

	registered, submitted, unblinded atomic.Int32
}

func (r *relay) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /eth/v1/builder/validators", func(http.ResponseWriter, *http.Request) { r.registered.Add(1) })
	mux.HandleFunc("GET /eth/v1/builder/header/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNoContent, r.bid)
	})
	mux.HandleFunc("POST /eth/v2/builder/blinded_blocks", func(w http.ResponseWriter, _ *http.Request) {
		r.submitted.Add(1)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST /eth/v1/builder/blinded_blocks", func(w http.ResponseWriter, _ *http.Request) {
		r.unblinded.Add(1)
		answer(w, http.StatusBadRequest, r.reveals)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch {
		case r.hangs:
			<-request.Context().Done()
		case r.status != 0:
			w.WriteHeader(r.status)
		default:
			mux.ServeHTTP(w, request)
		}
	})
}

// answer writes a versioned value in JSON, or a status if there is none.
func answer[T any](w http.ResponseWriter, none int, value *T) {
	if value == nil {
		w.WriteHeader(none)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		panic(err)
	}
}

// memory is a connection to a handler in this process. Time in it may be that of a synctest bubble.
type memory struct{ http.Handler }

func (m memory) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		m.ServeHTTP(recorder, request)
		close(done)
	}()
	select {
	case <-done:
		return recorder.Result(), nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

func connect(t *testing.T, relays ...*relay) []Relay {
	t.Helper()
	var list []Relay
	for _, r := range relays {
		c, err := client.New("http://"+r.name, client.Options{HTTP: &http.Client{Transport: memory{r.handler()}}, JSON: true})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Relay{Client: c, Pubkey: relayKey.PublicKey()})
	}
	return list
}

// auction is a parent, and two blocks on it of which the first one has the lower hash.
type auction struct {
	spec      *eth.Spec
	parent    phase0.Hash32
	low, high *chain.Built
}

func newAuction(t *testing.T) auction {
	t.Helper()
	n := newNetwork(t, eth.Deneb)
	a := auction{spec: n.spec, parent: phase0.Hash32(n.node.Genesis().Hash()), low: n.build(t, 1)}
	high, err := n.node.Build(t.Context(), chain.BuildArgs{
		Parent: a.parent, Slot: 1, GasLimitTarget: 60_000_000, Transactions: a.low.Block.Transactions()[:1],
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.high = high; string(a.high.Payload.BlockHash[:]) < string(a.low.Payload.BlockHash[:]) {
		a.low, a.high = a.high, a.low
	}
	return a
}

func (a auction) offer(t *testing.T, valueWei uint64, built *chain.Built) *builderspec.VersionedSignedBuilderBid {
	t.Helper()
	return offer(t, a.spec, relayKey, valueWei, built)
}

// Of all bids that hold up the best one is taken, and its block goes to those that offered it,
// whatever the others do.
func TestAggregatorChooses(t *testing.T) {
	a := newAuction(t)
	forged := offer(t, a.spec, bls.Derive("stranger", 1), 9, a.high)
	for name, c := range map[string]struct {
		relays []*relay
		min    uint64
		best   *chain.Built // nil is none
		value  uint64
		buyers string // of the relays, those that get the block
		fails  bool
	}{
		"none asked": {},
		"one":        {relays: []*relay{{bid: a.offer(t, 5, a.high)}}, best: a.high, value: 5, buyers: "[true]"},
		"no bids":    {relays: []*relay{{}, {}}},
		"all fail":   {relays: []*relay{{status: 500}, {status: 404}}, fails: true},
		"one fails":  {relays: []*relay{{status: 500}, {}}},
		"all hang":   {relays: []*relay{{hangs: true}, {hangs: true}}, fails: true},
		"higher value": {relays: []*relay{{bid: a.offer(t, 5, a.low)}, {bid: a.offer(t, 6, a.high)}}, best: a.high, value: 6,
			buyers: "[false true]"},
		"equal values": {relays: []*relay{{bid: a.offer(t, 5, a.high)}, {bid: a.offer(t, 5, a.low)}}, best: a.low, value: 5,
			buyers: "[false true]"},
		"the same bid": {relays: []*relay{{bid: a.offer(t, 5, a.low)}, {bid: a.offer(t, 5, a.low)}, {}}, best: a.low,
			value: 5, buyers: "[true true false]"},
		"one hangs": {relays: []*relay{{hangs: true}, {bid: a.offer(t, 5, a.low)}}, best: a.low, value: 5,
			buyers: "[false true]"},
		"one is forged": {relays: []*relay{{bid: forged}, {bid: a.offer(t, 5, a.low)}}, best: a.low, value: 5,
			buyers: "[false true]"},
		"all forged": {relays: []*relay{{bid: forged}}, fails: true},
		"enough":     {relays: []*relay{{bid: a.offer(t, 5, a.low)}}, min: 5, best: a.low, value: 5, buyers: "[true]"},
		"too little": {relays: []*relay{{bid: a.offer(t, 5, a.low)}}, min: 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for i, r := range c.relays {
					r.name = fmt.Sprintf("relay%d", i)
				}
				s := &Aggregator{Spec: a.spec, Relays: connect(t, c.relays...), MinBidWei: uint256.NewInt(c.min)}
				ctx, cancel := context.WithTimeout(t.Context(), 950*time.Millisecond)
				defer cancel()
				bid, err := s.Header(ctx, 1, a.parent, phase0.BLSPubKey{})
				if (err != nil) != c.fails || (bid == nil) != (c.best == nil) {
					t.Fatalf("%+v, %v", bid, err)
				}
				if c.best == nil {
					return
				}
				if bid.BlockHash != c.best.Payload.BlockHash || !bid.ValueWei.Eq(uint256.NewInt(c.value)) {
					t.Errorf("the best bid is %#x for %s", bid.BlockHash[:], bid.ValueWei)
				}
				if err := s.Submit(t.Context(), blindedFor(t, bid)); err != nil {
					t.Error(err)
				}
				var buyers []bool
				for _, r := range c.relays {
					buyers = append(buyers, r.submitted.Load() == 1)
				}
				if fmt.Sprint(buyers) != c.buyers {
					t.Errorf("the block goes to %v, want %s", buyers, c.buyers)
				}
			})
		})
	}
}

// blindedFor is a signed blinded block of slot 1 with a bid's header.
func blindedFor(t *testing.T, bid *Bid) *api.VersionedSignedBlindedBeaconBlock {
	t.Helper()
	local := newLocal(1)
	blinded, err := blindBlock(local, bid)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := blinded.signed(phase0.BLSSignature{0xc0})
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// One relay that publishes is enough; when none does, all say why.
func TestAggregatorSubmits(t *testing.T) {
	a := newAuction(t)
	refuses, takes := &relay{name: "refuses", bid: a.offer(t, 5, a.low)}, &relay{name: "takes", bid: a.offer(t, 5, a.low)}
	s := &Aggregator{Spec: a.spec, Relays: connect(t, refuses, takes)}
	bid, err := s.Header(t.Context(), 1, a.parent, phase0.BLSPubKey{})
	if err != nil {
		t.Fatal(err)
	}
	// Later auctions have begun before the block is submitted.
	for slot := phase0.Slot(2); slot < 1+slotsOffered; slot++ {
		s.remember(slot, map[phase0.Hash32][]Relay{})
	}
	refuses.status = http.StatusBadRequest
	if err := s.Submit(t.Context(), blindedFor(t, bid)); err != nil || takes.submitted.Load() != 1 {
		t.Errorf("%v, %d submissions", err, takes.submitted.Load())
	}
	takes.status = http.StatusInternalServerError
	err = s.Submit(t.Context(), blindedFor(t, bid))
	// in the order of their offers
	for _, want := range []string{"http://refuses: relay answers 400", "http://takes: relay answers 500"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("all refuse: %v, want %s", err, want)
		}
	}
	if err := s.Submit(t.Context(), blindedFor(t, &Bid{Versioned: a.offer(t, 5, a.high)})); err == nil {
		t.Error("a header that nobody offered is submitted")
	}
	s.remember(1+slotsOffered, map[phase0.Hash32][]Relay{})
	if err := s.Submit(t.Context(), blindedFor(t, bid)); err == nil || len(s.offered) != slotsOffered {
		t.Errorf("an old header is submitted: %v, %d slots are kept", err, len(s.offered))
	}
}

// By v1 a relay has to reveal the payload that it has sold.
func TestAggregatorUnblinds(t *testing.T) {
	a := newAuction(t)
	reveal := func(built *chain.Built) *builderapi.VersionedSubmitBlindedBlockResponse {
		return &builderapi.VersionedSubmitBlindedBlockResponse{
			Version: eth.Deneb.DataVersion(), Deneb: &builderdeneb.ExecutionPayloadAndBlobsBundle{
				ExecutionPayload: built.Payload,
				BlobsBundle: &builderdeneb.BlobsBundle{Commitments: built.Blobs.Commitments, Proofs: built.Blobs.Proofs,
					Blobs: built.Blobs.Blobs},
			},
		}
	}
	for name, c := range map[string]struct {
		reveals *builderapi.VersionedSubmitBlindedBlockResponse
		ok      bool
	}{
		"what was sold":     {reveal(a.low), true},
		"something else":    {reveal(a.high), false},
		"nothing but a 400": {nil, false},
	} {
		r := &relay{name: "relay", bid: a.offer(t, 5, a.low), reveals: c.reveals}
		s := &Aggregator{Spec: a.spec, Relays: connect(t, r), V1: true}
		bid, err := s.Header(t.Context(), 1, a.parent, phase0.BLSPubKey{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Submit(t.Context(), blindedFor(t, bid)); (err == nil) != c.ok || r.unblinded.Load() != 1 ||
			r.submitted.Load() != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAggregatorRegisters(t *testing.T) {
	up, down := &relay{name: "up"}, &relay{name: "down", status: http.StatusServiceUnavailable}
	var batch []*builderv1.SignedValidatorRegistration
	if err := (&Aggregator{Relays: connect(t, down, up)}).Register(t.Context(), batch); err != nil ||
		up.registered.Load() != 1 {
		t.Errorf("one of two: %v", err)
	}
	err := (&Aggregator{Relays: connect(t, down)}).Register(t.Context(), batch)
	if refused := (*client.Error)(nil); !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
		t.Errorf("none: %v", err)
	}
}

// A sidecar by URL is asked as one relay, and its bids are looked at again, whoever has signed
// them.
func TestRemote(t *testing.T) {
	a := newAuction(t)
	r := &relay{name: "sidecar", bid: offer(t, a.spec, bls.Derive("any relay", 1), 5, a.low)}
	s := &Remote{Client: connect(t, r)[0].Client, Spec: a.spec}
	bid, err := s.Header(t.Context(), 1, a.parent, phase0.BLSPubKey{})
	if err != nil || bid.BlockHash != a.low.Payload.BlockHash {
		t.Fatalf("%+v, %v", bid, err)
	}
	if bid, err := s.Header(t.Context(), 1, phase0.Hash32{1}, phase0.BLSPubKey{}); err == nil {
		t.Errorf("a bid on another parent is taken: %+v", bid)
	}
	if err := s.Submit(t.Context(), blindedFor(t, bid)); err != nil || r.submitted.Load() != 1 {
		t.Error(err)
	}
	if err := s.Register(t.Context(), nil); err != nil || r.registered.Load() != 1 {
		t.Error(err)
	}
	r.bid = nil
	if bid, err := s.Header(t.Context(), 1, a.parent, phase0.BLSPubKey{}); bid != nil || err != nil {
		t.Errorf("no bid: %+v, %v", bid, err)
	}
}
