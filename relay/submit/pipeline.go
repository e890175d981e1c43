// Package submit takes a builder's submission to the auction: the flow of a bid, from the decoded
// body to the header that is served.
//
//	submission ─▶ checks ─▶ worth it? ─┬─▶ execute ─▶ escrow ─▶ book ─▶ sign the new top ─▶ board
//	               │          │ ≤ floor │    │ invalid   │
//	               400        202       │    400         503: served means escrowed, so it does not count
//	                                    │
//	                        trusted? ───┴─▶ escrow ─▶ book ─▶ sign ─▶ board ─ ─ later: execute ─▶ invalid: demote, take back
//	header ─▶ checks ─▶ trusted? ─────────────────▶ book ─▶ sign ─▶ board ─ ─ later: payload ─▶ escrow ─▶ execute
//
// VerifyAhead and SignAhead do the dear parts of this for a submission whose blobs are still on the
// way. What they make is no more than a result that is at hand: the way of the submission, and all
// that it must pass, are the same.
//
// One mutex guards the books and what is prepared beside them, and is held until the new top is
// shown, so that the board shows tops in the order in which the books elected them. Checks,
// execution, escrow, hashing and most signing run without it: only a bid that did not lead when it
// was made ready, and does now, is signed under the mutex (half a millisecond).
package submit

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
	"github.com/gavel-relay/gavel/internal/observe"
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

// Builders says how builders are treated. Calls never block.
type Builders interface {
	// Of is the zero value for a builder that nobody has listed.
	Of(pubkey phase0.BLSPubKey) relay.Builder
	// Demote ends a builder's optimistic mode for all of its keys.
	Demote(at time.Time, name string, reason relay.Demotion) error
}

// Board is where the served bid of an auction is shown; nil takes it down.
type Board interface {
	Show(key relay.Key, bid *relay.SignedBid)
}

// Escrow keeps payloads, and knows which of them may be asked for. Needs never blocks.
type Escrow interface {
	relay.Escrow
	// Needs says whether a payload leads its auction, led it lately, or belongs to a header that was
	// served.
	Needs(id relay.PayloadID) bool
	// Drop forgets a payload that nobody needs.
	Drop(ctx context.Context, id relay.PayloadID) error
}

// Evidence keeps what a builder was demoted for.
type Evidence interface {
	// Keep returns once the contents are kept for good, under their block hash.
	Keep(ctx context.Context, contents *relay.Contents) error
}

// Config are the parts and rules of a Pipeline. All parts are needed.
type Config struct {
	Spec       *eth.Spec
	Clock      clock.Clock
	Chain      ChainView
	Deliveries Deliveries
	Builders   Builders
	Validator  exec.Validator
	// Live says whether blocks can be executed at all now: without that no bid is accepted
	// optimistically. nil means always.
	Live   func() bool
	Escrow Escrow
	// EscrowBytes is how much the escrow keeps, which is divided among builders; 0 for no bound.
	EscrowBytes int64
	Evidence    Evidence
	Board       Board
	Facts       relay.Facts
	// Unrecorded is told of a submission that is counted and no fact: it was refused before a
	// signature or an API key has shown whose it is, or it is a stranger's and has changed nothing in
	// the auction. nil makes facts of them, too. It must not block.
	Unrecorded func(relay.SubmissionJudged)
	// Trouble is told what an operator should know and no caller can be told: it must not block.
	Trouble func(action string, err error)
	// Key signs bids. Its public key is the relay's identity.
	Key *bls.SecretKey
	// ValidationTimeout bounds the execution of one block, in wall time.
	ValidationTimeout time.Duration
	// PayloadTimeout is how long the payload of a header may take to follow, in chain time.
	PayloadTimeout time.Duration
	// Executors is how many blocks that were accepted optimistically are executed at a time; at least
	// one.
	Executors int
	// Cancellations allows ?cancellations=1.
	Cancellations bool
}

// Pipeline receives submissions. It is safe for concurrent use. Run simulates what the optimistic
// queue holds.
type Pipeline struct {
	Config
	optimistic optimisticQueue
	foresight  foresight
	senders    senderRecords
	shares     factShares

	mu       sync.Mutex // guards all below
	books    auction.Books
	prepared map[bidID]*preparedBid               // of all bids in the books
	escrowed map[relay.PayloadID]*escrowedPayload // what is in the escrow, or on its way
	awaited  map[bidID]*awaitedPayload            // headers whose payload has not come
	room     escrowShares                         // of the escrow
	payments map[relay.PayloadID]payment          // what executions found that blocks pay
}

// bidID tells bids apart: a builder may offer one block at several values, two keys may offer the
// same block, and a block may be said to pay one recipient and then another.
type bidID struct {
	builder   phase0.BLSPubKey
	block     phase0.Hash32
	value     [32]byte
	recipient relay.FeeRecipient
}

func idOf(bid *relay.Bid) bidID {
	return bidID{bid.Builder, bid.BlockHash, bid.ValueWei.Bytes32(), bid.FeeRecipient}
}

// New returns a pipeline without auctions.
func New(cfg Config) *Pipeline {
	return &Pipeline{
		Config: cfg, prepared: map[bidID]*preparedBid{}, escrowed: map[relay.PayloadID]*escrowedPayload{},
		awaited: map[bidID]*awaitedPayload{}, payments: map[relay.PayloadID]payment{},
		room:       escrowShares{bytes: cfg.EscrowBytes, least: leastShare},
		optimistic: optimisticQueue{jobs: map[bidID]*optimisticJob{}, wake: make(chan struct{}, 1)},
	}
}

// atFloor is the detail of a submission that is not worth executing.
const atFloor = "at or below the floor"

// What a builder is told of a bid that is not refused. The text below the floor is the one that
// deployed relays use.
var (
	accepted   = relay.Outcome{Status: http.StatusOK}
	belowFloor = relay.Outcome{Status: http.StatusAccepted, Message: "accepted bid below floor, skipped validation"}
)

// Submit judges a submission and answers with what the builder is told: 200 if the bid counts or
// has no effect, 202 if it is kept below the floor, and a *relay.Refused otherwise.
func (p *Pipeline) Submit(ctx context.Context, s *relay.Submission) (relay.Outcome, error) {
	outcome, judged, err := p.submit(ctx, s)
	judged.Cancellable, judged.Sequence = s.Cancellable, s.Sequence
	judged.Trace, judged.ReceivedAt = s.FlatTrace(), s.ReceivedAt
	if refused := (*relay.Refused)(nil); errors.As(err, &refused) {
		judged.Refusal, judged.Detail = refused.ID, refused.Detail
	}
	if p.isRecorded(s, judged, err) {
		p.Facts.Record(judged)
	} else {
		p.Unrecorded(judged)
	}
	return outcome, asTold(err)
}

// unauthenticated is a refusal before a signature has shown whose a submission is.
type unauthenticated struct{ *relay.Refused }

// Unwrap is for errors.As.
func (u unauthenticated) Unwrap() error { return u.Refused }

// asTold is the refusal that a builder is told.
func asTold(err error) error {
	if doubted := (unauthenticated{}); errors.As(err, &doubted) {
		return doubted.Refused
	}
	return err
}

// isRecorded says whether what became of a submission is written down. What anybody could have
// sent, in any number and at no cost, is only counted: refusals before a signature was found right,
// and of strangers, for whom a new key costs nothing, all that changes nothing in the auction. A
// stranger's bid that counts is a fact up to its share of the slot, and beyond it if it leads: then
// its block was executed and pays more than all others.
func (p *Pipeline) isRecorded(s *relay.Submission, judged relay.SubmissionJudged, err error) bool {
	doubted := unauthenticated{}
	switch {
	case p.Unrecorded == nil || s.Identified:
		return true
	case errors.As(err, &doubted):
		return false
	case !p.isStranger(s):
		return true
	case !judged.EligibleAt.IsZero():
		return p.shares.add(s) || p.leads(s)
	case err != nil || judged.Detail != atFloor:
		return false
	}
	return (s.Cancellable || s.Sequence > 0) && p.shares.takeBack(s)
}

// submit judges a submission. A header of the same block that came while this was under way has
// found no payload and awaits one: it is this one.
func (p *Pipeline) submit(ctx context.Context, s *relay.Submission) (relay.Outcome, relay.SubmissionJudged, error) {
	outcome, judged, err := p.judge(ctx, s)
	if errors.As(err, &unauthenticated{}) {
		return outcome, judged, err
	}
	if awaited := p.awaitedOf(s); len(awaited) > 0 {
		if refused := p.completeHeaders(ctx, s, awaited); refused != nil && err == nil {
			err = refused
		}
	}
	return outcome, judged, err
}

func (p *Pipeline) judge(ctx context.Context, s *relay.Submission) (relay.Outcome, relay.SubmissionJudged, error) {
	var judged relay.SubmissionJudged
	if s.Cancellable && !p.Cancellations {
		return relay.Outcome{}, judged, unauthenticated{relay.SubmissionCancellations.Plain()}
	}
	facts := p.caseOf(s)
	if refused := p.check(ctx, facts); refused != nil {
		if awaited := p.headersOwed(refused, facts); len(awaited) > 0 {
			judged.Optimistic, judged.Detail = true, "the payload of a header, after its slot"
			return accepted, judged, asError(p.completeHeaders(ctx, s, awaited))
		}
		return relay.Outcome{}, judged, unauthenticated{refused}
	}
	if s.Trace.Value.IsZero() || len(s.Payload.Transactions) == 0 {
		judged.Detail = "no value or no transactions: no effect"
		return accepted, judged, nil
	}
	if awaited := p.awaitedOf(s); len(awaited) > 0 {
		judged.Optimistic = true
		judged.Detail = "the payload of a header"
		return accepted, judged, asError(p.completeHeaders(ctx, s, awaited))
	}
	if below, refused := p.belowFloor(s); below || refused != nil {
		judged.Detail = atFloor
		return belowFloor, judged, asError(refused)
	}
	judged.Optimistic = p.trusts(facts.Builder, s.Trace.Value)
	judged.Verified = !judged.Optimistic
	var refused *relay.Refused
	if judged.Optimistic {
		refused = p.acceptOptimistic(ctx, s, facts)
	} else {
		refused = p.acceptSimulated(ctx, s, facts)
	}
	if refused != nil {
		judged.Verified = false
		return relay.Outcome{}, judged, refused
	}
	judged.EligibleAt = p.Clock.Now()
	return accepted, judged, nil
}

// trusts says whether a bid counts before its block is executed. Without anybody to execute it
// later none does.
func (p *Pipeline) trusts(builder relay.Builder, valueWei *uint256.Int) bool {
	return builder.Trusts(valueWei) && (p.Live == nil || p.Live())
}

// acceptSimulated takes a bid whose block is found valid.
func (p *Pipeline) acceptSimulated(ctx context.Context, s *relay.Submission, facts *caseFacts) *relay.Refused {
	paidWei, refused := p.simulate(ctx, s, facts)
	if refused != nil {
		return refused
	}
	defer observe.Stage(ctx, observe.Eligible)()
	bid, refused := p.ready(ctx, s)
	if refused != nil {
		return refused
	}
	p.provePayment(s.Trace, paidWei) // only now: it is this very payload that the escrow has
	bid.verified = true
	return p.enterAuction(s, facts, bid)
}

// acceptOptimistic takes a bid whose block is executed later.
func (p *Pipeline) acceptOptimistic(ctx context.Context, s *relay.Submission, facts *caseFacts) *relay.Refused {
	defer observe.Stage(ctx, observe.Eligible)()
	bid, refused := p.ready(ctx, s)
	if refused != nil {
		return refused
	}
	if refused := p.enterAuction(s, facts, bid); refused != nil {
		return refused
	}
	p.queueOptimistic(jobOf(s, facts, p.Clock.Now()))
	return nil
}

// ready does all that a bid needs before it may be served: its header is made, is begun to be
// signed if the bid would lead now, and the payload is kept. A processor takes a tenth of a
// millisecond and more to wake, so what is nearly done is done here, and only what is not begun yet
// beside.
func (p *Pipeline) ready(ctx context.Context, s *relay.Submission) (*preparedBid, *relay.Refused) {
	prepared := sync.OnceValues(func() (*preparedBid, error) { return p.prepareAndSign(s) })
	switch ahead := s.Ahead.Signed; {
	case ahead == nil:
		go func() { _, _ = prepared() }()
	case ahead.Done():
		_, _ = prepared()
	default: // is being done beside
	}
	refused := p.keep(ctx, s, prepared)
	bid, err := prepared()
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, relay.Malformed.With("%v", err)
	}
	return bid, nil
}

// prepareAndSign makes a bid, and begins to sign it if it would lead now.
func (p *Pipeline) prepareAndSign(s *relay.Submission) (*preparedBid, error) {
	bid, err := prepare(s)
	if err != nil {
		return nil, err
	}
	if p.leads(s) {
		bid.sign(s.Key(), p.Key, p.Spec.BuilderDomain(), p.notSigned)
	}
	return bid, nil
}

func (p *Pipeline) trouble(action string, err error) {
	if p.Trouble != nil {
		p.Trouble(action, err)
	}
}

// asError keeps a nil refusal from becoming an error that is not nil.
func asError(refused *relay.Refused) error {
	if refused == nil {
		return nil
	}
	return refused
}
