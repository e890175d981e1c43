// Package stakedbid takes bids that staked builders have signed themselves, from gloas on, and
// knows what may be served of them (docs/gloas.md).
//
//	bid ─▶ slot ─▶ duty ─▶ builder known? ─▶ more than before? ─▶ terms, balance, signature ─▶ alone: kept ─▶ counts
//	       400     400     400               400                  400                          503
//	                             with its payload: fits the bid? ─▶ executed, in the escrow ─▶ kept ─▶ counts
//	                                               400              400, 503
//	blinded envelope ─▶ bid with a payload? ─▶ fits it? signature ─▶ kept ─▶ relay/reveal
//	                    400                    400                   503
//
// A bid is kept before it counts, and so is an envelope's signature before it is used: another
// process, the next one or another instance, takes them up by Adopt. What one builder can have here
// is bounded, and a stranger has no builder: its bid ends at a look-up in memory.
package stakedbid

import (
	"context"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
	"github.com/gavel-relay/gavel/relay/slots"
)

// Chain is what the relay knows of the chain and of its proposers. Calls never block.
type Chain interface {
	Head() relay.Head
	Duty(slot phase0.Slot) *relay.RegisteredDuty
	Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes
	Preferences(slot phase0.Slot) []*gloas.ProposerPreferences
}

// Builders says how the operator treats builders. It never blocks.
type Builders interface {
	Of(pubkey phase0.BLSPubKey) relay.Builder
}

// Prover shows that a payload keeps its promises.
type Prover interface {
	// Prove executes a block, and puts its payload into the escrow.
	Prove(ctx context.Context, s *relay.Submission) *relay.Refused
}

// Payloads holds payloads of bids that stand. It never blocks.
type Payloads interface {
	Hold(id relay.PayloadID)
	LetGo(id relay.PayloadID)
}

// Memory outlives the process, and is that of all instances.
type Memory interface {
	// KeepBid and KeepEnvelope return when the fact is stored.
	KeepBid(ctx context.Context, taken relay.StakedBidTaken) error
	KeepEnvelope(ctx context.Context, signed relay.EnvelopeSigned) error
}

// Config are the parts of a Taker. All are needed.
type Config struct {
	Spec     *eth.Spec
	Clock    clock.Clock
	Chain    Chain
	Table    *Table
	Builders Builders
	Slots    *slots.Slots
	Prover   Prover
	Payloads Payloads
	Memory   Memory
	// Own is the relay's builder, whose bids only the relay makes.
	Own gloas.BuilderIndex
	// Counted is called for each bid with what came of it: taken, or the refusal. It must not block.
	Counted func(result string)
	// Arrived is called when the signature of an envelope is here. It must not block.
	Arrived func()
}

// Taker takes bids of staked builders. It is safe for concurrent use.
type Taker struct {
	Config

	mu    sync.Mutex // guards what follows
	slots map[phase0.Slot]*slotBids
	sold  []sold
	// unsigned has the builders that have not signed the envelope of a payload that was sold, and the
	// slot of the last one.
	unsigned map[phase0.BLSPubKey]phase0.Slot
}

// Bounds of what one builder can have here in one slot: each is a fact in the journal, too.
const (
	maxBids      = 64
	maxEnvelopes = 8
)

// slotBids is what is known of one slot.
type slotBids struct {
	byRoot    map[phase0.Root]*bid.Signed // all that were taken, since a proposer may have any of them
	stands    map[place]*bid.Signed       // the last one of each builder and parent
	bids      map[gloas.BuilderIndex]int
	envelopes map[envelopeKey]*gloas.SignedBlindedExecutionPayloadEnvelope
	signed    map[gloas.BuilderIndex]int
}

// envelopeKey names an envelope: of a block alone another builder could take the place of the one
// whose bid the block has.
type envelopeKey struct {
	block, payload phase0.Root
	builder        gloas.BuilderIndex
}

func keyOf(e *gloas.BlindedExecutionPayloadEnvelope) envelopeKey {
	return envelopeKey{e.BeaconBlockRoot, e.PayloadRoot, e.BuilderIndex}
}

// place names where a builder can have one bid.
type place struct {
	builder    gloas.BuilderIndex
	parentRoot phase0.Root
	parentHash phase0.Hash32
}

func placeOf(m *gloas.ExecutionPayloadBid) place {
	return place{m.BuilderIndex, m.ParentBlockRoot, m.ParentBlockHash}
}

// New returns a Taker that has taken nothing.
func New(cfg Config) *Taker {
	return &Taker{Config: cfg, slots: map[phase0.Slot]*slotBids{}, unsigned: map[phase0.BLSPubKey]phase0.Slot{}}
}

// Offer is a bid as it came.
type Offer struct {
	*gloas.SignedBuilderBid
	ReceivedAt time.Time
	// From is the network that it came from, as in relay.Submission.
	From string
}

// Take takes a bid, or refuses it. The same bid again has the same answer. Errors are
// *relay.Refused.
func (t *Taker) Take(ctx context.Context, offer *Offer) error {
	if refused := t.take(ctx, offer); refused != nil {
		t.Counted(refused.ID)
		return refused
	}
	t.Counted("taken")
	return nil
}

func (t *Taker) take(ctx context.Context, offer *Offer) *relay.Refused {
	c, refused := t.admit(offer)
	switch {
	case refused != nil:
		return refused
	case c.taken:
		return nil
	}
	if refused := c.checkTerms(); refused != nil {
		return refused
	}
	trace := c.bareTrace()
	if c.contents != nil {
		s, refused := c.submission()
		if refused != nil {
			return refused
		}
		if refused := t.Prover.Prove(ctx, s); refused != nil {
			return refused
		}
		trace = s.FlatTrace()
		trace.ValueWei = bid.WorthWei(c.signed.Message)
	}
	return t.keep(ctx, c.signed, trace)
}

// keep stores a bid, and then lets it count, unless a better one of its builder has come meanwhile.
func (t *Taker) keep(ctx context.Context, signed *bid.Signed, trace relay.Trace) *relay.Refused {
	raw, err := gloas.Mainnet.SignedExecutionPayloadBid.ToJSON(signed.SignedExecutionPayloadBid)
	if err != nil {
		return relay.Malformed.With("encode bid: %v", err)
	}
	if refused := t.mayEnter(signed); refused != nil {
		return refused
	}
	if signed.HasPayload() {
		t.Payloads.Hold(payloadOf(signed))
	}
	err = t.Memory.KeepBid(ctx, relay.StakedBidTaken{
		Trace: trace, ReceivedAt: signed.ReceivedAt, EligibleAt: t.Clock.Now(), Bid: raw, PayloadRoot: signed.PayloadRoot,
	})
	if err != nil {
		return relay.StakedBidNotKept.Plain()
	}
	return t.enter(signed)
}

// payloadOf is the escrow's key of a bid's payload.
func payloadOf(s *bid.Signed) relay.PayloadID {
	return relay.PayloadID{Slot: s.Message.Slot, BlockHash: s.Message.BlockHash, Builder: s.Builder}
}
