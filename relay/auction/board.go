package auction

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// Board is the auctions of one slot as its log has made them. The same entries make the same board
// at every instance, so all serve the same top. It is not safe for concurrent use; its owner guards
// it.
//
//	instances ─append─▶ the slot's log, one order ─▶ Apply, in that order, at each instance ─▶ Top, Floor
//
// It is the model of the auction over several instances (decision 19). No service runs on it yet.
type Board struct {
	slot    phase0.Slot
	books   Books
	applied uint64 // how many entries of the log
	seen    map[entryID]bool
	bids    map[boardBid]*boardFact
	asked   map[phase0.BLSPubKey]Entry // what proposers ask for since they have registered again
	// withdrawn are builders whose unverified bids do not enter any more.
	withdrawn map[phase0.BLSPubKey]bool
	delivered bool
}

// entryID names an entry however often it was appended.
type entryID struct {
	instance string
	number   uint64
}

// boardBid names a bid in the log: the same block may be offered at several values.
type boardBid struct {
	key     relay.Key
	builder phase0.BLSPubKey
	block   phase0.Hash32
	value   uint256.Int
}

// boardFact is what is known of a bid.
type boardFact struct {
	verified           bool
	gasLimit, askedGas uint64
}

// Applied says what an entry has done to the board.
type Applied struct {
	// Entered: a bid is in its book now; Outcome is what the book says then, and what its builder is
	// answered. A bid that did not enter was outdated, withdrawn, not what the proposer asks for, or
	// too late.
	Entered bool
	Outcome Outcome
	// Repeated: the entry was in the log before, and has changed nothing.
	Repeated bool
}

// ErrGap says that entries of the log are missing before one.
var ErrGap = errors.New("entries of the auction log are missing")

// NewBoard returns the board of a slot's empty log.
func NewBoard(slot phase0.Slot) *Board {
	return &Board{
		slot: slot, seen: map[entryID]bool{}, bids: map[boardBid]*boardFact{}, asked: map[phase0.BLSPubKey]Entry{},
		withdrawn: map[phase0.BLSPubKey]bool{},
	}
}

// Apply applies the entry at a place of the log; the first place is 1. An entry that was applied
// already changes nothing. The error is ErrGap if the entry before it was not applied; then nothing
// has changed, and the caller reads the missing ones.
func (b *Board) Apply(place uint64, entry Entry) (Applied, error) {
	switch {
	case place <= b.applied:
		return Applied{Repeated: true}, nil
	case place != b.applied+1:
		return Applied{}, fmt.Errorf("place %d after place %d: %w", place, b.applied, ErrGap)
	}
	b.applied = place
	id := entryID{entry.Instance, entry.Number}
	if b.seen[id] {
		return Applied{Repeated: true}, nil
	}
	b.seen[id] = true
	switch entry.Kind {
	case BidEntered:
		return b.enter(entry), nil
	case BidVerified:
		if id := b.bidOf(entry); b.bids[id] == nil {
			b.bids[id] = &boardFact{verified: true}
		} else {
			b.bids[id].verified = true
		}
	case BuilderWithdrawn:
		b.withdraw(entry.Builder)
	case ProposerReregistered:
		b.reregister(entry)
	case SlotDelivered:
		b.delivered = true
	}
	// A kind of a later version that may be passed over changes nothing here.
	return Applied{}, nil
}

// Applied returns how many entries were applied.
func (b *Board) Applied() uint64 { return b.applied }

// Book returns the book of an auction. It must not be changed.
func (b *Board) Book(key relay.Key) *Book { return b.books.Of(key) }

func (b *Board) key(entry Entry) relay.Key {
	return relay.Key{Slot: b.slot, ParentHash: entry.ParentHash, Proposer: entry.Proposer}
}

func (b *Board) bidOf(entry Entry) boardBid {
	return boardBid{b.key(entry), entry.Builder, entry.BlockHash, *entry.ValueWei}
}

func (b *Board) enter(entry Entry) Applied {
	key, id := b.key(entry), b.bidOf(entry)
	fact := b.bids[id]
	verified := entry.Verified || fact != nil && fact.verified
	asked, again := b.asked[key.Proposer]
	if b.delivered || b.withdrawn[entry.Builder] && !verified ||
		again && !fits(asked, entry.FeeRecipient, entry.GasLimit, entry.AskedGas) {
		return Applied{}
	}
	bid := relay.Bid{
		Builder: entry.Builder, BlockHash: entry.BlockHash, ValueWei: entry.ValueWei, ReceivedAt: entry.ReceivedAt,
		FeeRecipient: entry.FeeRecipient, Cancellable: entry.Cancellable, Sequence: entry.Sequence,
	}
	outcome := b.books.Of(key).put(bid, !entry.Uncounted)
	if outcome.Result == Outdated {
		return Applied{Outcome: outcome}
	}
	b.bids[id] = &boardFact{verified, entry.GasLimit, entry.AskedGas}
	return Applied{Entered: true, Outcome: outcome}
}

// fits says whether a block is what a proposer asks for: it pays the recipient, and was made for
// the gas limit or does not exceed it.
func fits(asked Entry, recipient relay.FeeRecipient, gasLimit, askedGas uint64) bool {
	return recipient == asked.FeeRecipient &&
		(asked.GasLimit == 0 || askedGas == asked.GasLimit || gasLimit <= asked.GasLimit)
}

func (b *Board) withdraw(builder phase0.BLSPubKey) {
	b.withdrawn[builder] = true
	for key, book := range b.books.All() {
		book.Withdraw(builder, func(bid relay.Bid) bool { return !b.factOf(key, bid).verified })
	}
}

func (b *Board) reregister(asked Entry) {
	b.asked[asked.Proposer] = asked
	for key, book := range b.books.All() {
		if key.Proposer != asked.Proposer {
			continue
		}
		book.Exclude(func(bid relay.Bid) bool {
			fact := b.factOf(key, bid)
			return !fits(asked, bid.FeeRecipient, fact.gasLimit, fact.askedGas)
		})
	}
}

func (b *Board) factOf(key relay.Key, bid relay.Bid) boardFact {
	return *b.bids[boardBid{key, bid.Builder, bid.BlockHash, *bid.ValueWei}]
}
