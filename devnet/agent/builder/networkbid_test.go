package builder

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Each row is what a builder sees of the slot for which it has bid, and what it does with its
// payload.
func TestDisclose(t *testing.T) {
	const second = time.Second
	look := 12 * second / looksPerSlot
	ours := Sighting{Now: second, Block: true, Ours: true}
	late := Conduct{RevealAt: 7 * second}
	for _, c := range []struct {
		name    string
		conduct Conduct
		sees    Sighting
		want    Disclosure
	}{
		{"before the slot it waits", Conduct{}, Sighting{Now: -2 * second}, Disclosure{Wait: true}},
		{"and for the block", Conduct{}, Sighting{Now: second}, Disclosure{Wait: true, Until: second + look}},
		{"it reveals for a block with its bid", Conduct{}, ours, Disclosure{Reveal: true}},
		{"not for another one", Conduct{}, Sighting{Now: second, Block: true}, Disclosure{}},
		{"not when the slot is over", Conduct{}, Sighting{Now: 12 * second, Block: true, Ours: true}, Disclosure{}},
		{"nor does it look on then", Conduct{}, Sighting{Now: 12 * second}, Disclosure{}},
		{"it may withhold", Conduct{Withhold: true}, ours, Disclosure{}},
		{"but looks for the block", Conduct{Withhold: true}, Sighting{Now: second},
			Disclosure{Wait: true, Until: second + look}},
		{"or keep the blobs", Conduct{WithholdBlobs: true}, ours, Disclosure{Reveal: true, WithoutBlobs: true}},
		{"or wait", late, ours, Disclosure{Wait: true, Until: 7 * second}},
		{"until its time", late, Sighting{Now: 7 * second, Block: true, Ours: true}, Disclosure{Reveal: true}},
		{"never beyond the slot", Conduct{RevealAt: 20 * second}, Sighting{Now: 12 * second, Block: true, Ours: true},
			Disclosure{}},
	} {
		c.sees.Length = 12 * second
		if got := c.conduct.Disclose(c.sees); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// A stubborn builder turns to another slot, and not to another parent of the same one.
func TestStubborn(t *testing.T) {
	now := Attributes{Slot: 3, ParentHash: phase0.Hash32{1}}
	other, next := Attributes{Slot: 3, ParentHash: phase0.Hash32{2}}, Attributes{Slot: 4, ParentHash: phase0.Hash32{2}}
	for _, c := range []struct {
		conduct Conduct
		to      Attributes
		want    bool
	}{{Conduct{}, other, true}, {Conduct{}, next, true}, {Conduct{Stubborn: true}, other, false},
		{Conduct{Stubborn: true}, next, true}} {
		if got := c.conduct.follows(now, c.to); got != c.want {
			t.Errorf("stubborn %v, slot %d: follows %v", c.conduct.Stubborn, c.to.Slot, got)
		}
	}
}

// gloasNode is a scripted beacon node: it takes bids, shows a block and takes envelopes.
type gloasNode struct {
	t *testing.T
	// refuses is the status for bids; 0 takes them. block is what the slot has, nil nothing yet; raw,
	// if set, is shown in its place.
	refuses int
	block   func(bid *gloas.SignedExecutionPayloadBid) *gloas.SignedBeaconBlock
	raw     []byte

	mu        sync.Mutex // guards all below
	bids      []*gloas.SignedExecutionPayloadBid
	looks     int
	envelopes []*gloas.SignedExecutionPayloadEnvelope
	blobs     []int // with each envelope; -1 for one without
}

func (n *gloasNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		n.t.Error(err)
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "execution_payload_bids"):
		if n.refuses != 0 {
			w.WriteHeader(n.refuses)
			return
		}
		bid, err := gloas.Mainnet.SignedExecutionPayloadBid.Decode(body)
		if err != nil {
			n.t.Error(err)
		}
		n.bids = append(n.bids, bid)
	case strings.HasSuffix(r.URL.Path, "blocks/3"):
		n.looks++
		if n.raw != nil {
			_, _ = w.Write(n.raw)
			return
		}
		if n.looks < 3 || n.block == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		raw, err := gloas.Mainnet.SignedBeaconBlock.Encode(n.block(n.bids[len(n.bids)-1]))
		if err != nil {
			n.t.Error(err)
		}
		_, _ = w.Write(raw)
	case strings.HasSuffix(r.URL.Path, "execution_payload_envelopes"):
		n.take(r.Header.Get("Eth-Blob-Data-Included"), body)
	}
}

func (n *gloasNode) take(included string, body []byte) {
	if included == "true" {
		contents, err := gloas.Mainnet.EnvelopeContents.Decode(body)
		if err != nil {
			n.t.Fatal(err)
		}
		n.envelopes = append(n.envelopes, contents.SignedExecutionPayloadEnvelope)
		n.blobs = append(n.blobs, len(contents.Blobs))
		return
	}
	signed, err := gloas.Mainnet.SignedExecutionPayloadEnvelope.Decode(body)
	if err != nil {
		n.t.Fatal(err)
	}
	n.envelopes, n.blobs = append(n.envelopes, signed), append(n.blobs, -1)
}

// blockWith is a block of slot 3 that has a bid.
func blockWith(bid *gloas.SignedExecutionPayloadBid) *gloas.SignedBeaconBlock {
	return &gloas.SignedBeaconBlock{Message: &gloas.BeaconBlock{Slot: 3, Body: &gloas.BeaconBlockBody{
		ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, SignedExecutionPayloadBid: bid,
		SyncAggregate:           &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
		ParentExecutionRequests: new(gloas.ExecutionRequests),
	}}}
}

// stakedBuilder is a builder that bids by a node, and a relay that only tells duties.
func stakedBuilder(t *testing.T, n *gloasNode, strategy Strategy, conduct Conduct) (*Builder, *relay, *pool) {
	t.Helper()
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	spec := specOf(eth.Gloas)
	node := opened(t, spec)
	r, c := newRelay(t, nil) // it knows no duty
	b, index := newBuilder(spec, node, c), gloas.BuilderIndex(7)
	b.Stake, b.BeaconURL, b.Strategy, b.Conduct = &index, server.URL, strategy, conduct
	if err := b.preferred.add(preferencesEvent(t, 3)); err != nil {
		t.Fatal(err)
	}
	return b, r, node
}

// preferencesEvent is a proposer_preferences event as beacon nodes send it, for a slot.
func preferencesEvent(t *testing.T, slot phase0.Slot) []byte {
	t.Helper()
	data, err := gloas.Mainnet.SignedProposerPreferences.ToJSON(&gloas.SignedProposerPreferences{
		Message: &gloas.ProposerPreferences{ProposalSlot: slot, ValidatorIndex: 2, FeeRecipient: feeRecipient,
			TargetGasLimit: 50_000_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat([]byte(`{"version":"gloas","data":`), data, []byte("}"))
}

// The newest word of a proposer counts; what is no event changes nothing, and old slots are
// forgotten.
func TestPreferences(t *testing.T) {
	var p preferences
	if _, err := p.duty(3); !errors.Is(err, errNoPreferences) {
		t.Errorf("before the first one: %v", err)
	}
	for _, wrong := range []string{"", "{", "{}", `{"data":[]}`, `{"data":{"message":null}}`} {
		if p.add([]byte(wrong)) == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	if err := p.add(preferencesEvent(t, 3)); err != nil {
		t.Fatal(err)
	}
	duty, err := p.duty(3)
	if m := duty.Registration.Message; err != nil || duty.Index != 2 || m.FeeRecipient != feeRecipient ||
		m.GasLimit != 50_000_000 {
		t.Errorf("%+v, %v", duty, err)
	}
	if err := p.add(preferencesEvent(t, 4+preferencesKept)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.duty(3); err == nil || len(p.bySlot) != 1 {
		t.Errorf("an old slot is kept: %v", err)
	}
}

// A staked builder signs a bid for a block without a payment, and hands it to the beacon node and
// to no relay. Once a block has the bid, it reveals the payload with its blobs, or as its conduct
// says.
func TestNetworkBid(t *testing.T) {
	for name, c := range map[string]struct {
		conduct Conduct
		block   func(*gloas.SignedExecutionPayloadBid) *gloas.SignedBeaconBlock
		blobs   []int
	}{
		"honest":         {Conduct{}, blockWith, []int{1}},
		"without blobs":  {Conduct{WithholdBlobs: true}, blockWith, []int{-1}},
		"withheld":       {Conduct{Withhold: true}, blockWith, nil},
		"late":           {Conduct{RevealAt: 7 * time.Second}, blockWith, []int{1}},
		"another's wins": {Conduct{}, anotherBlock, nil},
		"a missed slot":  {Conduct{}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := &gloasNode{t: t, block: c.block}
			b, r, _ := stakedBuilder(t, n, Fixed{milli(20)}, c.conduct)
			a := attributesFor(b.Node.(*pool), 3)
			b.auction(t.Context(), a)
			if len(n.bids) != 1 || len(r.got()) != 0 {
				t.Fatalf("%d bids by the network, %d to the relay", len(n.bids), len(r.got()))
			}
			wantNetworkBid(t, b, a, n.bids[0])
			if err := b.keep(t.Context(), <-b.promised); err != nil {
				t.Error(err)
			}
			if len(n.blobs) != len(c.blobs) || len(c.blobs) > 0 && n.blobs[0] != c.blobs[0] {
				t.Fatalf("envelopes with %v blobs, want %v", n.blobs, c.blobs)
			}
			for _, signed := range n.envelopes {
				wantEnvelope(t, b, n, signed)
			}
			if at := b.Clock.Now().Sub(b.Spec.SlotStart(3)); at < c.conduct.RevealAt {
				t.Errorf("it is over at %v", at)
			}
		})
	}
}

func anotherBlock(bid *gloas.SignedExecutionPayloadBid) *gloas.SignedBeaconBlock {
	other := *bid.Message
	other.BlockHash[0] ^= 1
	return blockWith(&gloas.SignedExecutionPayloadBid{Message: &other})
}

func wantNetworkBid(t *testing.T, b *Builder, a Attributes, signed *gloas.SignedExecutionPayloadBid) {
	t.Helper()
	bid := signed.Message
	if bid.Value != 20_000_000 || bid.ExecutionPayment != 0 || bid.BuilderIndex != 7 || bid.Slot != 3 ||
		bid.FeeRecipient != feeRecipient || bid.ParentBlockHash != a.ParentHash || bid.ParentBlockRoot != a.ParentRoot ||
		bid.PrevRandao != a.PrevRandao || len(bid.BlobKZGCommitments) != 1 {
		t.Errorf("bid %+v", bid)
	}
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(bid)
	if err != nil {
		t.Fatal(err)
	}
	if err := bls.Verify(b.Key.PublicKey(), eth.SigningRoot(root, gloas.BuilderDomain(b.Spec, 3)),
		signed.Signature); err != nil {
		t.Errorf("signature of the bid: %v", err)
	}
}

func wantEnvelope(t *testing.T, b *Builder, n *gloasNode, signed *gloas.SignedExecutionPayloadEnvelope) {
	t.Helper()
	message, bid := signed.Message, n.bids[0].Message
	block, err := gloas.Mainnet.BeaconBlock.Root(blockWith(n.bids[0]).Message)
	if err != nil {
		t.Fatal(err)
	}
	if message.Payload.BlockHash != bid.BlockHash || message.BuilderIndex != 7 || message.BeaconBlockRoot != block ||
		message.ParentBeaconBlockRoot != bid.ParentBlockRoot {
		t.Errorf("envelope %+v of payload %#x", message, message.Payload.BlockHash)
	}
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := bls.Verify(b.Key.PublicKey(), eth.SigningRoot(root, gloas.BuilderDomain(b.Spec, 3)),
		signed.Signature); err != nil {
		t.Errorf("signature of the envelope: %v", err)
	}
}

// A bid that the network ignores is reported, and nothing is promised by it. A value beyond what a
// bid can say is the highest one, and is refused like any that no stake covers.
func TestNetworkBidIsRefused(t *testing.T) {
	n := &gloasNode{t: t, refuses: http.StatusBadRequest}
	b, _, _ := stakedBuilder(t, n, Fixed{milli(20)}, Conduct{})
	var told []devnet.Event
	b.Tell = func(e devnet.Event) { told = append(told, e) }
	b.auction(t.Context(), attributesFor(b.Node.(*pool), 3))
	if len(told) == 0 || len(b.promised) != 0 {
		t.Fatalf("told %v, %d promises", told, len(b.promised))
	}
	want := devnet.Event{Actor: b.Name, At: devnet.BeaconName, Slot: 3, Subject: devnet.RequestRefused, Status: 400}
	if told[0] != want {
		t.Errorf("told %+v, want %+v", told[0], want)
	}
	if got := gweiOf(new(uint256.Int).Not(new(uint256.Int))); got != ^phase0.Gwei(0) {
		t.Errorf("2^256-1 wei are %d Gwei", got)
	}
}

// What is no block is an error, and reveals nothing.
func TestBrokenBlockRevealsNothing(t *testing.T) {
	n := &gloasNode{t: t, raw: []byte("no block")}
	b, _, _ := stakedBuilder(t, n, Fixed{milli(20)}, Conduct{})
	b.auction(t.Context(), attributesFor(b.Node.(*pool), 3))
	if err := b.keep(t.Context(), <-b.promised); err == nil || len(n.envelopes) > 0 {
		t.Errorf("error %v, %d envelopes", err, len(n.envelopes))
	}
}

// Before gloas a builder with stake bids to relays, like everybody.
func TestStakeBeforeGloas(t *testing.T) {
	spec := specOf(eth.Fulu)
	node := opened(t, spec)
	r, c := newRelay(t, registered(3))
	b, index := newBuilder(spec, node, c), gloas.BuilderIndex(7)
	b.Stake, b.Strategy = &index, Fixed{milli(20)}
	b.auction(t.Context(), attributesFor(node, 3))
	if len(r.got()) != 1 || len(b.promised) != 0 {
		t.Errorf("%d bids to the relay, %d by the network", len(r.got()), len(b.promised))
	}
}
