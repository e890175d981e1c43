package stakedbid

import (
	"context"
	"errors"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
	"github.com/gavel-relay/gavel/relay/slots"
)

const index = 9

var (
	key        = bls.Derive("staked", 0)
	parentRoot = phase0.Root{1}
	parentHash = phase0.Hash32{2}
	spec       = &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Gloas, Version: phase0.Version{7}}},
	}
)

// world is all that a taker needs, with one proposer and what is kept of bids.
type world struct {
	head  phase0.Slot
	kept  []relay.StakedBidTaken
	fails error
	holds map[relay.PayloadID]bool
	clock *clock.Stepped
}

func (w *world) Head() relay.Head { return relay.Head{Slot: w.head} }

func (w *world) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	return &relay.RegisteredDuty{Duty: relay.Duty{Slot: slot},
		Registration: &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{}}}
}

func (w *world) Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes {
	if parent != parentHash {
		return nil
	}
	return &relay.Attributes{Slot: slot, ParentHash: parent, ParentRoot: parentRoot, PrevRandao: [32]byte{3}}
}

func (w *world) Preferences(slot phase0.Slot) []*gloas.ProposerPreferences {
	return []*gloas.ProposerPreferences{{ProposalSlot: slot, FeeRecipient: bellatrix.ExecutionAddress{4}}}
}

func (*world) Of(phase0.BLSPubKey) relay.Builder                        { return relay.Builder{} }
func (*world) Prove(context.Context, *relay.Submission) *relay.Refused  { return nil }
func (w *world) Hold(id relay.PayloadID)                                { w.holds[id] = true }
func (w *world) LetGo(id relay.PayloadID)                               { delete(w.holds, id) }
func (*world) KeepEnvelope(context.Context, relay.EnvelopeSigned) error { return nil }
func (w *world) KeepBid(_ context.Context, f relay.StakedBidTaken) error {
	if w.fails == nil {
		w.kept = append(w.kept, f)
	}
	return w.fails
}

// newTaker returns a taker six seconds before slot 1, which knows one builder with eleven ETH.
func newTaker(w *world) *Taker {
	w.clock, w.holds = clock.NewStepped(spec.SlotStart(1).Add(-6*time.Second)), map[relay.PayloadID]bool{}
	table := new(Table)
	table.Set(0, 3, map[gloas.BuilderIndex]gloas.Builder{
		index: {Pubkey: key.PublicKey(), Balance: 11_000_000_000, WithdrawableEpoch: gloas.FarFuture},
	})
	return New(Config{
		Spec: spec, Clock: w.clock, Chain: w, Table: table, Builders: w, Slots: new(slots.Slots), Prover: w, Payloads: w,
		Memory: w, Own: 5, Counted: func(string) {}, Arrived: func() {},
	})
}

func offerOf(t *testing.T, slot phase0.Slot, value phase0.Gwei) *Offer {
	t.Helper()
	m := &gloas.ExecutionPayloadBid{
		Slot: slot, ParentBlockRoot: parentRoot, ParentBlockHash: parentHash, BlockHash: phase0.Hash32{0xbb},
		PrevRandao: phase0.Root{3}, FeeRecipient: bellatrix.ExecutionAddress{4}, BuilderIndex: index, Value: value,
	}
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(m)
	if err != nil {
		t.Fatal(err)
	}
	return &Offer{SignedBuilderBid: &gloas.SignedBuilderBid{Bid: &gloas.SignedExecutionPayloadBid{Message: m,
		Signature: key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(spec, slot)))}}}
}

func wantRefusal(t *testing.T, err error, want relay.Refusal) {
	t.Helper()
	if refused := (*relay.Refused)(nil); !errors.As(err, &refused) || refused.ID != want.ID {
		t.Errorf("%v, want %s", err, want.ID)
	}
}

// One builder cannot fill the memory: its bids for a slot are bounded, and those of slots that are
// over are forgotten.
func TestBidsOfABuilderAreBounded(t *testing.T) {
	w := new(world)
	taker := newTaker(w)
	for i := range maxBids {
		if err := taker.Take(t.Context(), offerOf(t, 1, phase0.Gwei(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	wantRefusal(t, taker.Take(t.Context(), offerOf(t, 1, maxBids+1)), relay.StakedBidTooMany)
	if got := taker.Bids(1, parentRoot, parentHash); len(got) != 1 || got[0].Message.Value != maxBids {
		t.Errorf("%d bids stand", len(got))
	}
	if len(w.kept) != maxBids {
		t.Errorf("%d bids are kept", len(w.kept))
	}
	taker.Close(2)
	if len(taker.slots) != 0 {
		t.Error("a slot that is over is remembered")
	}
}

// A bid that could not be kept does not count, and may be sent again.
func TestBidThatIsNotKept(t *testing.T) {
	w := &world{fails: errors.New("the disk is full")}
	taker := newTaker(w)
	offer := offerOf(t, 1, 7)
	wantRefusal(t, taker.Take(t.Context(), offer), relay.StakedBidNotKept)
	if taker.Sold(offer.Bid) != nil || len(taker.Bids(1, parentRoot, parentHash)) != 0 {
		t.Error("it counts")
	}
	w.fails = nil
	if err := taker.Take(t.Context(), offer); err != nil {
		t.Error(err)
	}
}

// What a builder owes for blocks that were published counts against its next bids, for two epochs,
// and against those that stand.
func TestSoldValueIsOwed(t *testing.T) {
	w := new(world)
	taker := newTaker(w)
	offer := offerOf(t, 1, 6_000_000_000)
	if err := taker.Take(t.Context(), offer); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the proposer sends its block twice
		taker.MarkSold(taker.Sold(offer.Bid))
	}
	if len(taker.Bids(1, parentRoot, parentHash)) != 0 {
		t.Error("a bid stands that the builder cannot pay")
	}
	later := func(slot phase0.Slot) {
		w.head = slot - 1
		w.clock.Set(spec.SlotStart(slot).Add(-time.Second))
		taker.Close(w.head)
	}
	later(40)
	wantRefusal(t, taker.Take(t.Context(), offerOf(t, 40, 4_000_000_001)), relay.StakedBidBalance)
	if err := taker.Take(t.Context(), offerOf(t, 40, 4_000_000_000)); err != nil {
		t.Error(err)
	}
	later(70)
	if err := taker.Take(t.Context(), offerOf(t, 70, 10_000_000_000)); err != nil {
		t.Error(err)
	}
}

// What another process has taken is known here, if it is not over; a fact that cannot be read is
// reported.
func TestAdopt(t *testing.T) {
	w := new(world)
	offer := offerOf(t, 1, 7)
	if err := newTaker(w).Take(t.Context(), offer); err != nil {
		t.Fatal(err)
	}
	fact := w.kept[0]
	taker := newTaker(w)
	for range 2 {
		if err := taker.Adopt(fact); err != nil {
			t.Fatal(err)
		}
	}
	if s := taker.Sold(offer.Bid); s == nil || s.Builder != key.PublicKey() ||
		len(taker.Bids(1, parentRoot, parentHash)) != 1 {
		t.Errorf("%+v", s)
	}
	fact.Bid = []byte(`{"message":`)
	if err := taker.Adopt(fact); err == nil {
		t.Error("half a bid is adopted")
	}
	w.head = 2
	taker = newTaker(w)
	if err := taker.Adopt(w.kept[0]); err != nil || taker.Sold(offer.Bid) != nil {
		t.Errorf("%v: a bid of a slot that is over is known", err)
	}
}

// A payload stays in the escrow while its bid stands.
func TestPayloadsOfStandingBidsAreHeld(t *testing.T) {
	w := new(world)
	taker := newTaker(w)
	with := func(value phase0.Gwei, block byte) *bid.Signed {
		o := offerOf(t, 1, value)
		o.Bid.Message.BlockHash[0] = block
		return &bid.Signed{SignedExecutionPayloadBid: o.Bid, Builder: key.PublicKey(), PayloadRoot: phase0.Root{block}}
	}
	for _, row := range []struct {
		signed *bid.Signed
		held   int
	}{{with(1, 1), 1}, {with(2, 1), 1}, {with(3, 2), 1}} {
		if refused := taker.keep(t.Context(), row.signed, relay.Trace{Slot: 1}); refused != nil {
			t.Fatal(refused)
		}
		if len(w.holds) != row.held || !w.holds[payloadOf(row.signed)] {
			t.Errorf("%v are held", w.holds)
		}
	}
}

// The table is read again in the next epoch, or after somebody has named a builder that it lacks.
func TestTableIsDue(t *testing.T) {
	table := new(Table)
	if !table.IsDue(1) {
		t.Error("nobody has asked, and it is not due")
	}
	table.Set(1, 0, map[gloas.BuilderIndex]gloas.Builder{index: {}})
	if table.IsDue(1) || !table.IsDue(2) || table.Of(index) == nil || table.IsDue(1) {
		t.Error("it is due in the epoch in which it was read, or not in the next")
	}
	if table.Of(index+1) != nil || !table.IsDue(1) {
		t.Error("it lacks a builder, and is not due")
	}
}

// A builder that has not signed an envelope is not believed within its payloads for a day. Its
// value is, and a payload that it was not to sign does not count.
func TestBuilderThatHasNotSigned(t *testing.T) {
	taker := newTaker(new(world))
	promise := offerOf(t, 1, 7)
	promise.Bid.Message.ExecutionPayment = 1
	s := &bid.Signed{SignedExecutionPayloadBid: promise.Bid, Builder: key.PublicKey()}
	for _, reason := range []string{relay.LeftAlone, relay.LeftUnseen} {
		taker.NoteLeft(relay.PayloadLeft{Slot: 1, Builder: s.Builder, Reason: reason})
		if taker.hasNotSigned(s) {
			t.Errorf("%s counts", reason)
		}
	}
	taker.NoteLeft(relay.PayloadLeft{Slot: 1, Builder: s.Builder, Reason: relay.LeftUnsigned})
	wantRefusal(t, taker.Take(t.Context(), promise), relay.StakedBidPromise)
	if err := taker.Take(t.Context(), offerOf(t, 1, 7)); err != nil {
		t.Error(err)
	}
	s.Message.Slot = 1 + distrust
	if taker.hasNotSigned(s) {
		t.Error("it is not believed after a day")
	}
	if taker.Close(distrust + 2); len(taker.unsigned) != 0 {
		t.Error("it is remembered for ever")
	}
}
