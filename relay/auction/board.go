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
// Boards, which are those of all open slots, are what the relay runs on in a cluster (decision 19).
type Board struct {
	slot    phase0.Slot
	books   Books
	applied uint64 // how many entries of the log
	seen    map[entryID]bool
	bids    map[boardBid]*boardFact
	asked   map[phase0.BLSPubKey]Entry // what proposers ask for since they have registered again
	// withdrawn are builders whose unverified bids do not enter any more.
	withdrawn map[phase0.BLSPubKey]bool
	dropped   map[boardBlock]uint64 // at which place
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
	// recipient is part of the name, since a verdict is about what a block pays to one.
	recipient relay.FeeRecipient
}

// boardBlock names a block, which its builder may offer at several values.
type boardBlock struct {
	builder phase0.BLSPubKey
	block   phase0.Hash32
}

// boardFact is what is known of a bid.
type boardFact struct {
	verified           bool
	gasLimit, askedGas uint64
}

// Applied says what an entry has done to the board.
type Applied struct {
	// Entered: a bid is in its book now; Outcome is what the book says then, and what its builder is
	// answered. If the bid did not enter, Why says why.
	Entered bool
	Outcome Outcome
	Why     NotEntered
	// Dropped: a block's bids are out of its book now.
	Dropped bool
	// Repeated: the entry was in the log before, and has changed nothing.
	Repeated bool
	// Tops are the auctions in which another bid leads now, or none any more.
	Tops []TopOf
}

// TopOf is the outcome of one auction.
type TopOf struct {
	Key relay.Key
	Outcome
}

// NotEntered is why a bid is not in its book.
type NotEntered uint8

// The reasons.
const (
	WasOutdated   NotEntered = iota + 1 // a newer bid of its builder is in the book
	WasDistrusted                       // its builder was withdrawn, and no execution has found the bid valid
	WasUnfit                            // the proposer asks for something else now
	WasTooLate                          // the slot was delivered
	WasDropped                          // its payload was dropped from the escrow
)

// ErrGap says that entries of the log are missing before one.
var ErrGap = errors.New("entries of the auction log are missing")

// NewBoard returns the board of a slot's empty log.
func NewBoard(slot phase0.Slot) *Board {
	return &Board{
		slot: slot, seen: map[entryID]bool{}, bids: map[boardBid]*boardFact{}, asked: map[phase0.BLSPubKey]Entry{},
		withdrawn: map[phase0.BLSPubKey]bool{}, dropped: map[boardBlock]uint64{},
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
		return Applied{Tops: b.withdraw(entry.Builder)}, nil
	case ProposerReregistered:
		return Applied{Tops: b.reregister(entry)}, nil
	case BlockDropped:
		return b.drop(entry), nil
	case SlotDelivered:
		b.delivered = true
	}
	// The other kinds, and those of a later version that may be passed over, change nothing here.
	return Applied{}, nil
}

// Applied returns how many entries were applied.
func (b *Board) Applied() uint64 { return b.applied }

// Book returns the book of an auction. It must not be changed.
func (b *Board) Book(key relay.Key) *Book { return b.books.Of(key) }

// Withdrawn says whether a builder's unverified bids do not enter any more.
func (b *Board) Withdrawn(builder phase0.BLSPubKey) bool { return b.withdrawn[builder] }

func (b *Board) key(entry Entry) relay.Key {
	return relay.Key{Slot: b.slot, ParentHash: entry.ParentHash, Proposer: entry.Proposer}
}

func (b *Board) bidOf(entry Entry) boardBid {
	return boardBid{b.key(entry), entry.Builder, entry.BlockHash, *entry.ValueWei, entry.FeeRecipient}
}

func (b *Board) enter(entry Entry) Applied {
	key, id := b.key(entry), b.bidOf(entry)
	fact := b.bids[id]
	verified := entry.Verified || fact != nil && fact.verified
	if why := b.refuses(entry, verified); why != 0 {
		return Applied{Why: why}
	}
	bid := relay.Bid{
		Builder: entry.Builder, BlockHash: entry.BlockHash, ValueWei: entry.ValueWei, ReceivedAt: entry.ReceivedAt,
		FeeRecipient: entry.FeeRecipient, Cancellable: entry.Cancellable, Sequence: entry.Sequence,
	}
	outcome := b.books.Of(key).put(bid, !entry.Uncounted)
	if outcome.Result == Outdated {
		return Applied{Outcome: outcome, Why: WasOutdated}
	}
	b.bids[id] = &boardFact{verified, entry.GasLimit, entry.AskedGas}
	return Applied{Entered: true, Outcome: outcome, Tops: changed(nil, key, outcome)}
}

// refuses says why a bid does not enter, whatever its builder has in the book; 0 if it may. A bid
// that only replaces always may while the slot runs.
func (b *Board) refuses(entry Entry, verified bool) NotEntered {
	asked, again := b.asked[entry.Proposer]
	switch {
	case b.delivered:
		return WasTooLate
	case entry.Uncounted:
		return 0
	case b.withdrawn[entry.Builder] && !verified:
		return WasDistrusted
	case again && !fits(asked, entry.FeeRecipient, entry.GasLimit, entry.AskedGas):
		return WasUnfit
	case !entry.Awaited && entry.Seen < b.dropped[boardBlock{entry.Builder, entry.BlockHash}]:
		return WasDropped
	}
	return 0
}

// changed adds an auction's outcome to a list if its top is another one now.
func changed(list []TopOf, key relay.Key, outcome Outcome) []TopOf {
	if outcome.Changed {
		list = append(list, TopOf{key, outcome})
	}
	return list
}

// fits says whether a block is what a proposer asks for: it pays the recipient, and was made for
// the gas limit or does not exceed it.
func fits(asked Entry, recipient relay.FeeRecipient, gasLimit, askedGas uint64) bool {
	return recipient == asked.FeeRecipient &&
		(asked.GasLimit == 0 || askedGas == asked.GasLimit || gasLimit <= asked.GasLimit)
}

func (b *Board) withdraw(builder phase0.BLSPubKey) (tops []TopOf) {
	b.withdrawn[builder] = true
	for key, book := range b.books.All() {
		tops = changed(tops, key, book.Withdraw(builder, func(bid relay.Bid) bool { return !b.factOf(key, bid).verified }))
	}
	return tops
}

func (b *Board) reregister(asked Entry) (tops []TopOf) {
	if before, again := b.asked[asked.Proposer]; again && asked.RegisteredAt.Before(before.RegisteredAt) {
		return nil
	}
	b.asked[asked.Proposer] = asked
	for key, book := range b.books.All() {
		if key.Proposer != asked.Proposer {
			continue
		}
		tops = changed(tops, key, book.Exclude(func(bid relay.Bid) bool {
			fact := b.factOf(key, bid)
			return !fits(asked, bid.FeeRecipient, fact.gasLimit, fact.askedGas)
		}))
	}
	return tops
}

// drop takes a block's bids out of its book, unless they are needed there.
func (b *Board) drop(entry Entry) Applied {
	book := b.books.Of(b.key(entry))
	of := func(bid relay.Bid) bool { return bid.Builder == entry.Builder && bid.BlockHash == entry.BlockHash }
	if top := book.Top(); top != nil && of(*top) {
		return Applied{}
	}
	if current := book.Current(entry.Builder); current != nil && of(*current) {
		return Applied{}
	}
	book.Withdraw(entry.Builder, of)
	b.dropped[boardBlock{entry.Builder, entry.BlockHash}] = b.applied
	return Applied{Dropped: true}
}

func (b *Board) factOf(key relay.Key, bid relay.Bid) boardFact {
	return *b.bids[boardBid{key, bid.Builder, bid.BlockHash, *bid.ValueWei, bid.FeeRecipient}]
}
