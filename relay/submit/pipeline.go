// Package submit takes a builder's submission to the auction. This file lists all steps in the
// order in which they run. The files step1_rules to step7_record have that order too; the other
// files hold what the steps use. Before the pipeline, relay/api reads the request and
// relay/wire decodes it. A block that is sent twice needs no step of its own: its payload is put
// into the escrow once, and a second bid of equal value does not lead.
//
//	simulated    block ─▶ rules ─▶ floor ─▶ simulate ─▶ escrow ─▶ auction ─▶ announce
//	                      400       202       400        503
//	optimistic   block ─▶ rules ─▶ floor ─────────────▶ escrow ─▶ auction ─▶ announce ─ ─▶ simulate later: invalid demotes
//	header-only  header ─▶ rules ─▶ floor ───────────────────────▶ auction ─▶ announce ─ ─▶ payload ─▶ escrow ─▶ simulate later
//
// One mutex guards the books and the prepared bids. It is held until the new top is shown, so that
// tops are shown in the order in which the books elected them. Rules, simulation, escrow, hashing
// and signing run without it. A bid that leads before it is signed is shown at once, and signed on
// another goroutine.
package submit

import (
	"context"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/speculate"
)

// step does one thing for a submission. If it refuses the submission or calls attempt.answer, no
// further step runs.
type step func(p *Pipeline, ctx context.Context, a *attempt) *relay.Refused

// The four lists of steps.
var (
	// admission is for every block. A block that it neither refuses nor answers goes on with one of
	// the next two lists.
	admission = []step{
		(*Pipeline).refuseCancellation, // if the operator does not allow ?cancellations=1
		(*Pipeline).checkRules,         // the rules of relay/check; the signature is the last of them
		(*Pipeline).answerWorthless,    // no value or no transactions: accepted without effect
		(*Pipeline).completeHeaders,    // the payload of a header that is in the auction
		(*Pipeline).answerBelowFloor,   // it cannot lead, so it is not simulated
	}
	// simulated is for bids that count after their block was found valid.
	simulated = []step{
		timeSteps(observe.Simulate, (*Pipeline).simulate),
		timeSteps(observe.Eligible, (*Pipeline).escrowPayload, (*Pipeline).provePayment, (*Pipeline).enterAuction),
	}
	// optimistic is for trusted builders: the bid counts now, and its block is simulated later.
	optimistic = []step{
		timeSteps(observe.Eligible, (*Pipeline).escrowPayload, (*Pipeline).enterAuction),
		(*Pipeline).queueSimulation,
	}
	// headerOnly is for trusted builders that send the payload after the header (headersubmission.go).
	headerOnly = []step{
		(*Pipeline).refuseCancellation,
		(*Pipeline).checkRules,
		(*Pipeline).requireHeaderTrust, // the operator lets this builder send headers first
		(*Pipeline).answerWorthless,
		(*Pipeline).answerBelowFloor,
		(*Pipeline).expectPayload, // note that the payload has to follow, unless it is here
		(*Pipeline).enterAuction,
		(*Pipeline).watchPayload, // demote the builder if the payload is late
	}
)

// attempt is one submission in the pipeline. One goroutine owns it.
type attempt struct {
	submission *relay.Submission       // of a header: a stand-in without payload
	header     *relay.HeaderSubmission // nil for a block
	ahead      *speculate.Ahead        // what was begun while the body came; nil for nothing

	rules         *check.Case     // what the rules compare it with; from checkRules on
	authenticated bool            // an API key or its signature has shown whose it is
	paidWei       *uint256.Int    // what the block pays; nil if the simulation does not say
	put           bool            // it has put the payload into the escrow, and not another attempt
	bid           *preparedBid    // from escrowPayload or expectPayload on
	awaited       *awaitedPayload // of a header, from expectPayload on
	payload       payloadState    // of a header, from expectPayload on

	// distrusted: another instance has demoted the builder meanwhile, so the block is executed first.
	distrusted bool

	answered bool // outcome is final: no further step runs
	outcome  relay.Outcome
	judged   relay.SubmissionJudged // the fact
}

// Answers to bids that are not refused. The text for a bid below the floor is the one that deployed
// relays use.
var (
	accepted   = relay.Outcome{}
	belowFloor = relay.Outcome{BelowFloor: true}
)

// Submit runs the pipeline for a block and returns the answer to its builder: 200 if the bid counts
// or has no effect, 202 if it is below the floor, and a *relay.Refused otherwise. ahead is the work
// that was begun while the body arrived; nil if there is none.
func (p *Pipeline) Submit(ctx context.Context, s *relay.Submission, ahead *speculate.Ahead) (relay.Outcome, error) {
	a := &attempt{submission: s, ahead: ahead}
	a.judged.Stages = s.Stages
	defer p.settle(a)
	refused := p.run(ctx, a, admission)
	if refused == nil && !a.answered {
		a.judged.Optimistic = p.trusts(a)
		if a.judged.Optimistic {
			refused = p.run(ctx, a, optimistic)
		}
		if !a.judged.Optimistic || a.distrusted {
			a.judged.Optimistic, a.distrusted = false, false
			refused = p.run(ctx, a, simulated)
		}
	}
	refused = p.completeLateHeaders(ctx, a, refused)
	p.recordBlock(a, refused)
	return a.outcome, asError(refused)
}

// SubmitHeader runs the pipeline for a bid whose payload follows. The bid counts at once, if the
// builder is trusted with its value. The payload must come as an ordinary submission of the same
// block within PayloadTimeout, or the builder is demoted. A proposer that asks for the payload
// before it is here waits for it. So for these bids a served header does not mean that its payload
// is in the escrow; the builder's collateral stands for it.
func (p *Pipeline) SubmitHeader(ctx context.Context, h *relay.HeaderSubmission) (relay.Outcome, error) {
	a := &attempt{submission: check.SubmissionOfHeader(h), header: h}
	a.judged.HeaderFirst = true
	refused := p.run(ctx, a, headerOnly)
	if refused != nil {
		p.stopExpecting(a)
	}
	p.recordHeader(a, refused)
	return a.outcome, asError(refused)
}

// settle tells the escrow that nothing more will come of the attempt.
func (p *Pipeline) settle(a *attempt) {
	if a.put {
		p.Escrow.Settle(slots.PayloadOf(a.submission.Trace))
	}
}

// run runs steps until one refuses or answers.
func (p *Pipeline) run(ctx context.Context, a *attempt, way []step) *relay.Refused {
	for _, take := range way {
		if refused := take(p, ctx, a); refused != nil || a.answered {
			return refused
		}
	}
	return nil
}

// timeSteps joins steps into one, whose time is measured as a stage of the request.
func timeSteps(stage string, way ...step) step {
	return func(p *Pipeline, ctx context.Context, a *attempt) *relay.Refused {
		defer a.endStage(stage, observe.Stage(ctx, stage))
		return p.run(ctx, a, way)
	}
}

// endStage ends a stage of the attempt's request. It has no closure, which would be allocated for
// each stage.
func (a *attempt) endStage(stage string, end func() time.Duration) { a.judged.Stages.Add(stage, end()) }

// answer accepts the attempt, so that no further step runs. The detail is for the fact.
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
