// Package receive takes a builder's submission to the auction: the flow of a bid, from the decoded body to the header that is served.
//
//	submission ─▶ checks ─▶ worth it? ─▶ execute ─▶ escrow ─▶ book ─▶ sign the new top ─▶ board
//	               │          │ ≤ floor     │ invalid   │
//	               400        202           400         503: served means escrowed, so it does not count
//
// One mutex guards the books and what is prepared beside them. It is held while the new top is signed (half a millisecond), so that the
// board shows tops in the order in which the books elected them; checks, execution and escrow run without it.
package receive

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// ChainView is what the relay knows of the chain and of its proposers. Calls never block.
type ChainView interface {
	Head() relay.Head
	Duty(slot phase0.Slot) *relay.RegisteredDuty
	Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes
}

// Deliveries says which slots are over because their payload was revealed.
type Deliveries interface {
	// Delivered is true for the slot of any revealed payload and all slots before it.
	Delivered(slot phase0.Slot) bool
}

// Board is where the served bid of an auction is shown; nil takes it down.
type Board interface {
	Show(key relay.Key, bid *relay.SignedBid)
}

// Config are the parts and rules of a Desk. All parts are needed.
type Config struct {
	Spec       *eth.Spec
	Clock      clock.Clock
	Chain      ChainView
	Deliveries Deliveries
	Validator  exec.Validator
	Escrow     relay.Escrow
	Board      Board
	Facts      relay.Facts
	// Key signs bids. Its public key is the relay's identity.
	Key *bls.SecretKey
	// ValidationTimeout bounds the execution of one block, in wall time.
	ValidationTimeout time.Duration
	// Cancellations allows ?cancellations=1.
	Cancellations bool
}

// Desk receives submissions. It is safe for concurrent use.
type Desk struct {
	Config

	mu       sync.Mutex // guards books and prepared
	books    auction.Books
	prepared map[phase0.Hash32]*preparedBid // by block hash, of all bids in the books
}

// New returns a desk without auctions.
func New(cfg Config) *Desk {
	return &Desk{Config: cfg, prepared: map[phase0.Hash32]*preparedBid{}}
}

// What a builder is told of a bid that is not refused. The text below the floor is the one that deployed relays use.
var (
	accepted   = relay.Outcome{Status: http.StatusOK}
	belowFloor = relay.Outcome{Status: http.StatusAccepted, Message: "accepted bid below floor, skipped validation"}
)

// Receive judges a submission and answers with what the builder is told: 200 if the bid counts or has no effect, 202 if it is kept below
// the floor, and a *relay.Refused otherwise.
func (d *Desk) Receive(ctx context.Context, s *relay.Submission) (relay.Outcome, error) {
	outcome, judged, err := d.receive(ctx, s)
	judged.Trace, judged.ReceivedAt = s.FlatTrace(), s.ReceivedAt
	if refused := (*relay.Refused)(nil); errors.As(err, &refused) {
		judged.Refusal, judged.Detail = refused.ID, refused.Detail
	}
	d.Facts.Record(judged)
	return outcome, err
}

func (d *Desk) receive(ctx context.Context, s *relay.Submission) (relay.Outcome, relay.SubmissionJudged, error) {
	var judged relay.SubmissionJudged
	if s.Cancellable && !d.Cancellations {
		return relay.Outcome{}, judged, relay.SubmissionCancellations.Plain()
	}
	facts, refused := d.check(s)
	if refused != nil {
		return relay.Outcome{}, judged, refused
	}
	if s.Trace.Value.IsZero() || len(s.Payload.Transactions) == 0 {
		judged.Detail = "no value or no transactions: no effect"
		return accepted, judged, nil
	}
	if below, refused := d.belowFloor(s); below || refused != nil {
		judged.Detail = "at or below the floor"
		return belowFloor, judged, asError(refused)
	}
	if refused := d.execute(ctx, s, facts); refused != nil {
		return relay.Outcome{}, judged, refused
	}
	judged.Verified = true
	bid, err := prepare(s)
	if err != nil {
		return relay.Outcome{}, judged, relay.Malformed.With("%v", err)
	}
	if err := d.Escrow.Put(ctx, s.Contents()); err != nil {
		return relay.Outcome{}, judged, relay.SubmissionUnverifiable.With("the escrow is not available")
	}
	if refused := d.enter(s, bid); refused != nil {
		return relay.Outcome{}, judged, refused
	}
	judged.EligibleAt = d.Clock.Now()
	return accepted, judged, nil
}

// belowFloor says whether a bid is at or below the floor and thus not worth executing. A cancellable one takes back its builder's earlier
// bid all the same.
func (d *Desk) belowFloor(s *relay.Submission) (bool, *relay.Refused) {
	d.mu.Lock()
	defer d.mu.Unlock()
	book := d.books.Of(s.Key())
	if floor := book.Floor(); floor.IsZero() || s.Trace.Value.Gt(floor) {
		return false, nil
	}
	if s.Cancellable || s.Sequence > 0 {
		outcome := book.SubmitUnverified(s.Bid())
		if outcome.Result == auction.Outdated {
			return true, relay.SubmissionStale.Plain()
		}
		return true, d.show(s.Key(), outcome)
	}
	return true, nil
}

// enter puts a verified, escrowed bid into the book and shows the new top, if there is one.
func (d *Desk) enter(s *relay.Submission, bid *preparedBid) *relay.Refused {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Deliveries.Delivered(phase0.Slot(s.Trace.Slot)) { // revealed while this one was executed
		return relay.SubmissionDelivered.Plain()
	}
	d.prepared[s.Trace.BlockHash] = bid
	outcome := d.books.Of(s.Key()).Submit(s.Bid())
	if outcome.Result == auction.Outdated {
		return relay.SubmissionStale.Plain()
	}
	return d.show(s.Key(), outcome)
}

// show publishes the top if it changed. The caller holds the mutex.
func (d *Desk) show(key relay.Key, outcome auction.Outcome) *relay.Refused {
	if !outcome.Changed {
		return nil
	}
	if outcome.Top == nil {
		d.Board.Show(key, nil)
		d.Facts.Record(relay.TopChanged{At: d.Clock.Now(), Trace: relay.Trace{
			Slot: key.Slot, ParentHash: key.ParentHash, Proposer: key.Proposer, ValueWei: new(uint256.Int),
		}})
		return nil
	}
	bid := d.prepared[outcome.Top.BlockHash]
	signed, err := bid.sign(key, d.Key, d.Spec.BuilderDomain())
	d.Board.Show(key, signed) // without a signature none is served, rather than one that the book no longer holds
	if err != nil {
		return relay.Internal.With("sign bid: %v", err)
	}
	d.Facts.Record(relay.TopChanged{At: d.Clock.Now(), Trace: bid.trace})
	return nil
}

// Close forgets the auctions of all slots before the given one.
func (d *Desk) Close(before phase0.Slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.books.Close(before)
	for hash, bid := range d.prepared {
		if bid.trace.Slot < before {
			delete(d.prepared, hash)
		}
	}
}

// asError keeps a nil refusal from becoming an error that is not nil.
func asError(refused *relay.Refused) error {
	if refused == nil {
		return nil
	}
	return refused
}
