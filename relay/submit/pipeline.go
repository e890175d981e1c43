// Package submit takes a builder's submission to the auction. This file is its whole way, step by
// step, in the order in which the steps run. Their files stand in that order, step1_rules to
// step7_record; what they use stands behind them. Before the pipeline, relay/api/builder reads the
// request and relay/wire decodes it. A block that comes twice needs no step of its own: its payload
// is put into the escrow once, and a second bid of equal value does not lead.
//
//	simulated    block ─▶ rules ─▶ floor ─▶ simulate ─▶ escrow ─▶ auction ─▶ announce
//	                      400       202       400        503
//	optimistic   block ─▶ rules ─▶ floor ─────────────▶ escrow ─▶ auction ─▶ announce ─ ─▶ simulate later: invalid demotes
//	header-only  header ─▶ rules ─▶ floor ───────────────────────▶ auction ─▶ announce ─ ─▶ payload ─▶ escrow ─▶ simulate later
//
// One mutex guards the books and what is prepared beside them. It is held until the new top is
// shown, so that tops are shown in the order in which the books elected them. Rules, simulation,
// escrow, hashing and most signing run without it: only a bid that did not lead when it was made
// ready, and does now, is signed under the mutex (half a millisecond).
package submit

import (
	"context"
	"net/http"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/speculate"
)

// A step does one thing for a submission. A refusal ends its way, and so does attempt.answer.
type step func(p *Pipeline, ctx context.Context, a *attempt) *relay.Refused

// The ways through the pipeline.
var (
	// admission is the way of every block. Those that are open at its end go on by one of the next
	// two.
	admission = []step{
		(*Pipeline).refuseCancellation, // if the operator does not allow ?cancellations=1
		(*Pipeline).checkRules,         // the rules of relay/check; the signature is the last of them
		(*Pipeline).answerWorthless,    // no value or no transactions: no effect
		(*Pipeline).completeHeaders,    // the payload of a header that is in the auction
		(*Pipeline).answerBelowFloor,   // cannot lead: not worth a simulation
	}
	// simulated is for bids that count once their block was found valid.
	simulated = []step{
		timed(observe.Simulate, (*Pipeline).simulate),
		timed(observe.Eligible, (*Pipeline).escrowPayload, (*Pipeline).provePayment, (*Pipeline).enterAuction),
	}
	// optimistic is for trusted builders: the bid counts now, and its block is simulated later.
	optimistic = []step{
		timed(observe.Eligible, (*Pipeline).escrowPayload, (*Pipeline).enterAuction),
		(*Pipeline).queueSimulation,
	}
	// headerOnly is for trusted builders that send the payload after the header (headeronly.go).
	headerOnly = []step{
		(*Pipeline).refuseCancellation,
		(*Pipeline).checkRules,
		(*Pipeline).requireHeaderTrust, // the operator lets this builder bid so, up to its collateral
		(*Pipeline).answerWorthless,
		(*Pipeline).answerBelowFloor,
		(*Pipeline).expectPayload, // note that it has to follow, unless it is here
		(*Pipeline).enterAuction,
		(*Pipeline).watchPayload, // demote the builder if it is late
	}
)

// attempt is one submission on its way. One goroutine owns it.
type attempt struct {
	submission *relay.Submission       // of a header: its stand-in, which has no payload
	header     *relay.HeaderSubmission // nil for a block
	ahead      *speculate.Ahead        // what was begun while the body came; nil for nothing

	rules         *check.Case     // what the rules compare it with; from checkRules on
	authenticated bool            // an API key or its signature has shown whose it is
	paidWei       *uint256.Int    // what the simulation says that the block pays; nil if it does not
	bid           *preparedBid    // from escrowPayload or expectPayload on
	awaited       *awaitedPayload // of a header, from expectPayload on
	payload       payloadState    // of a header, from expectPayload on

	answered bool // outcome is final: no further step runs
	outcome  relay.Outcome
	judged   relay.SubmissionJudged // the fact
}

// What a builder is told of a bid that is not refused. The text below the floor is the one that
// deployed relays use.
var (
	accepted   = relay.Outcome{Status: http.StatusOK}
	belowFloor = relay.Outcome{Status: http.StatusAccepted, Message: "accepted bid below floor, skipped validation"}
)

// Submit judges a block and answers with what the builder is told: 200 if the bid counts or has no
// effect, 202 if it is kept below the floor, and a *relay.Refused otherwise. ahead is what was
// begun for it while its body was on the way; nil if nothing was.
func (p *Pipeline) Submit(ctx context.Context, s *relay.Submission, ahead *speculate.Ahead) (relay.Outcome, error) {
	a := &attempt{submission: s, ahead: ahead}
	refused := p.run(ctx, a, admission)
	if refused == nil && !a.answered {
		a.judged.Optimistic = p.trusts(a)
		if a.judged.Optimistic {
			refused = p.run(ctx, a, optimistic)
		} else {
			refused = p.run(ctx, a, simulated)
		}
	}
	refused = p.completeLateHeaders(ctx, a, refused)
	p.recordBlock(a, refused)
	return a.outcome, asError(refused)
}

// SubmitHeader judges a bid whose payload follows. It counts at once, if the builder is trusted
// with its value. The payload must come as an ordinary submission of the same block within
// PayloadTimeout, or the builder is demoted. A proposer that asks for the payload before it is here
// waits for it: for such bids "served means escrowed" rests on the builder's collateral.
func (p *Pipeline) SubmitHeader(ctx context.Context, h *relay.HeaderSubmission) (relay.Outcome, error) {
	a := &attempt{submission: check.StandIn(h), header: h}
	a.judged.HeaderFirst = true
	refused := p.run(ctx, a, headerOnly)
	if refused != nil {
		p.stopExpecting(a)
	}
	p.recordHeader(a, refused)
	return a.outcome, asError(refused)
}

// run takes steps until one ends the way.
func (p *Pipeline) run(ctx context.Context, a *attempt, way []step) *relay.Refused {
	for _, take := range way {
		if refused := take(p, ctx, a); refused != nil || a.answered {
			return refused
		}
	}
	return nil
}

// timed makes one step of some, which is measured as a stage of the request.
func timed(stage string, way ...step) step {
	return func(p *Pipeline, ctx context.Context, a *attempt) *relay.Refused {
		defer observe.Stage(ctx, stage)()
		return p.run(ctx, a, way)
	}
}

// answer ends the way without a refusal. The detail is for the fact.
func (a *attempt) answer(outcome relay.Outcome, detail string) {
	a.answered, a.outcome, a.judged.Detail = true, outcome, detail
}

// asError keeps a nil refusal from becoming an error that is not nil.
func asError(refused *relay.Refused) error {
	if refused == nil {
		return nil
	}
	return refused
}
