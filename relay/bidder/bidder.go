// Package bidder makes the relay's own bids, from gloas on: it gathers what relay/bid decides by,
// signs the bid under the key of the relay's staked builder, and keeps what proposers want of the
// relay until their slot is over. A better bid that another staked builder has signed is handed on
// as it is.
//
//	proposer ─auth─▶ authentic? ─▶ Bid ─▶ chain, preferences, cap, blocks of the auction ─▶ bid.Make ─▶ sign once ─▶ served
//	                                      bids that staked builders have signed ─▶ bid.Choose ─────────as they are──▶
//	proposer ─auth─▶ authentic? ─▶ SetCap
package bidder

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// Chain is what the relay knows of the chain and of its proposers. Calls never block.
type Chain interface {
	Head() relay.Head
	Duty(slot phase0.Slot) *relay.RegisteredDuty
	Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes
	Preferences(slot phase0.Slot) []*gloas.ProposerPreferences
}

// Auctions has the blocks that the relay may bid with, best first. It does not wait for I/O.
type Auctions interface {
	Blocks(key relay.Key) []*bid.Offer
}

// Signed has the bids that staked builders have signed themselves, and that may be served. It never
// blocks.
type Signed interface {
	Bids(slot phase0.Slot, parentRoot phase0.Root, parentHash phase0.Hash32) []*bid.Signed
}

// Served records bids that proposers were given. It never blocks.
type Served interface {
	RecordHeader(served relay.HeaderServed)
}

// Caps records what proposers count. Its memory outlives the process.
type Caps interface {
	// Keep returns when the fact is stored.
	Keep(ctx context.Context, capped relay.PaymentCapped) error
}

// Config are the parts of a Bidder. All but Signed are needed.
type Config struct {
	Spec     *eth.Spec
	Chain    Chain
	Auctions Auctions
	Signed   Signed // nil if none are taken
	Served   Served
	Caps     Caps
	// Index and Key are those of the relay's staked builder.
	Index gloas.BuilderIndex
	Key   *bls.SecretKey
	// Active says whether the builder may bid now. It never blocks.
	Active func() bool
	// Stake returns what the builder pays of a bid from its stake. It never blocks.
	Stake func() bid.Stake
	// Stopped says whether nothing is offered now. It never blocks.
	Stopped func() bool
	// Counted is called for each valid request with what came of it. It must not block.
	Counted func(result string)
	// AuthData are the values of auth.message.data that are for this relay.
	AuthData [][]byte
	// CutOff is how far into its slot a bid is still given, in chain time; 0 means always.
	CutOff time.Duration
}

// Bidder bids for the relay. It is safe for concurrent use.
type Bidder struct {
	Config

	mu     sync.Mutex // guards what follows
	caps   map[capKey]relay.PaymentCapped
	signed map[phase0.Slot]map[phase0.Root]*Bid // by the bid's root
	// verified has the last right request of each slot's proposer, which asks again and again.
	verified map[phase0.Slot]verified
}

// verified is a request whose signature was found to be its proposer's.
type verified struct {
	proposer  phase0.BLSPubKey
	root      phase0.Root
	signature phase0.BLSSignature
}

// capKey names who has said what it counts, and for which slot.
type capKey struct {
	proposer phase0.BLSPubKey
	slot     phase0.Slot
}

// Bid is a signed bid in both encodings, which must not be changed.
type Bid struct {
	Message   *gloas.ExecutionPayloadBid
	Signature phase0.BLSSignature
	Builder   phase0.BLSPubKey // whose block it is
	SSZ       []byte           // SignedExecutionPayloadBid
	JSON      []byte           // {"version":…,"data":…}
}

// New returns a Bidder that has given no bid.
func New(cfg Config) *Bidder {
	return &Bidder{
		Config: cfg, caps: map[capKey]relay.PaymentCapped{}, signed: map[phase0.Slot]map[phase0.Root]*Bid{},
		verified: map[phase0.Slot]verified{},
	}
}

// Parent names what the proposer builds on: a beacon block, with the hash of its payload (FULL)
// or of the one before (EMPTY).
type Parent struct {
	Hash phase0.Hash32
	Root phase0.Root
}

// Bid returns the bid for a proposer at a time, by which the time of the request is meant; nil
// without an error if there is none. Errors are *relay.Refused, or the relay's own faults.
func (b *Bidder) Bid(at time.Time, slot phase0.Slot, parent Parent, proposer phase0.BLSPubKey,
	auth *gloas.SignedBuilderRequestAuth) (*Bid, error) {
	if b.Spec.ForkAt(slot).HasBlindedBlocks() {
		return nil, relay.BeforeGloas.With("slot %d", slot)
	}
	if refused := b.authentic(slot, proposer, auth); refused != nil {
		return nil, refused
	}
	if !b.offers(at, slot, proposer) {
		b.Counted("closed")
		return nil, nil
	}
	attributes := b.Chain.Attributes(slot, parent.Hash)
	if attributes == nil || attributes.ParentRoot != parent.Root {
		b.Counted("unknown-parent")
		return nil, nil // no beacon node has told of a block on this parent
	}
	terms := &bid.Terms{
		Slot: slot, ParentRoot: parent.Root, ParentHash: parent.Hash, PrevRandao: attributes.PrevRandao,
		Preferences: b.Chain.Preferences(slot), Cap: b.capOf(capKey{proposer, slot}), Builder: b.Index, Active: b.Active(),
		Stake: b.Stake(), MaxBlobs: b.Spec.MaxBlobs(slot),
	}
	key := relay.Key{Slot: slot, ParentHash: parent.Hash, Proposer: proposer}
	message, offer, why := bid.Make(terms, b.Auctions.Blocks(key))
	if chosen := b.choose(terms, message); chosen != nil {
		b.Counted("signed")
		return b.hand(at, chosen.SignedExecutionPayloadBid, chosen.Builder, proposer)
	}
	if why != "" {
		b.Counted(string(why))
		return nil, nil
	}
	b.Counted("bid")
	return b.sign(at, message, offer, proposer)
}

// offers says whether the relay bids at all in a slot: not for another key than its proposer's,
// not after the cut-off or the slot's end, and not while the operator has stopped it.
func (b *Bidder) offers(at time.Time, slot phase0.Slot, proposer phase0.BLSPubKey) bool {
	duty := b.Chain.Duty(slot)
	switch {
	case duty == nil || duty.Proposer != proposer, b.Stopped(), slot <= b.Chain.Head().Slot:
		return false
	default:
		return b.CutOff <= 0 || at.Sub(b.Spec.SlotStart(slot)) <= b.CutOff
	}
}

// choose returns the signed bid that is better than the own one; nil if there is none.
func (b *Bidder) choose(terms *bid.Terms, own *gloas.ExecutionPayloadBid) *bid.Signed {
	if b.Signed == nil {
		return nil
	}
	return bid.Choose(terms, own, b.Signed.Bids(terms.Slot, terms.ParentRoot, terms.ParentHash))
}

// sign signs a bid, once.
func (b *Bidder) sign(at time.Time, message *gloas.ExecutionPayloadBid, offer *bid.Offer,
	proposer phase0.BLSPubKey) (*Bid, error) {
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(message)
	if err != nil {
		return nil, err
	}
	if known := b.known(message.Slot, root); known != nil {
		return known, nil
	}
	signature := b.Key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(b.Spec, message.Slot)))
	return b.hand(at, &gloas.SignedExecutionPayloadBid{Message: message, Signature: signature}, offer.Builder, proposer)
}

// hand encodes a signed bid, and records it, when it is given for the first time.
func (b *Bidder) hand(at time.Time, signed *gloas.SignedExecutionPayloadBid, builder,
	proposer phase0.BLSPubKey) (*Bid, error) {
	message := signed.Message
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(message)
	if err != nil {
		return nil, err
	}
	if known := b.known(message.Slot, root); known != nil {
		return known, nil
	}
	made := &Bid{Message: message, Signature: signed.Signature, Builder: builder}
	if made.SSZ, err = gloas.Mainnet.SignedExecutionPayloadBid.Encode(signed); err != nil {
		return nil, err
	}
	if made.JSON, err = gloas.Mainnet.SignedExecutionPayloadBid.ToJSON(signed); err != nil {
		return nil, err
	}
	made.JSON = slices.Concat([]byte(`{"version":"gloas","data":`), made.JSON, []byte("}"))
	if !b.keep(root, made) {
		return b.known(message.Slot, root), nil // given twice at once: the signature is the same
	}
	b.Served.RecordHeader(relay.HeaderServed{
		At: at, Slot: message.Slot, Proposer: proposer, BlockHash: message.BlockHash, Builder: builder,
		ValueWei: bid.WorthWei(message), FeeRecipient: message.FeeRecipient,
	})
	return made, nil
}

// Sold says whether a bid has a valid signature of the relay's builder. That is all it takes to
// know one's own bids, also those that another process has given.
func (b *Bidder) Sold(signed *gloas.SignedExecutionPayloadBid) bool {
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(signed.Message)
	if err != nil || signed.Message.BuilderIndex != b.Index {
		return false
	}
	if made := b.known(signed.Message.Slot, root); made != nil && made.Signature == signed.Signature {
		return true
	}
	signing := eth.SigningRoot(root, gloas.BuilderDomain(b.Spec, signed.Message.Slot))
	return bls.Verify(b.Key.PublicKey(), signing, signed.Signature) == nil
}

func (b *Bidder) known(slot phase0.Slot, root phase0.Root) *Bid {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.signed[slot][root]
}

// keep keeps a signed bid, and says whether it is the first one of its root.
func (b *Bidder) keep(root phase0.Root, made *Bid) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	slot := made.Message.Slot
	if b.signed[slot] == nil {
		b.signed[slot] = map[phase0.Root]*Bid{}
	}
	if b.signed[slot][root] != nil {
		return false
	}
	b.signed[slot][root] = made
	return true
}

// Close forgets what is of slots before the given one.
func (b *Bidder) Close(before phase0.Slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for slot := range b.signed {
		if slot < before {
			delete(b.signed, slot)
		}
	}
	for key := range b.caps {
		if key.slot < before {
			delete(b.caps, key)
		}
	}
	maps.DeleteFunc(b.verified, func(slot phase0.Slot, _ verified) bool { return slot < before })
}
