package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/backoff"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/slots"
)

// optimisticJob is a bid that counts before its block is executed at its value. It holds no
// payload: that waits in the escrow, however many bids there are.
type optimisticJob struct {
	rules     check.Case // its Submission has no payload
	since     time.Time
	tries     int
	notBefore time.Time // wall time
	running   bool
	delivered bool
	abovePaid bool // an execution has found its block to pay less
}

func (j *optimisticJob) slot() phase0.Slot   { return phase0.Slot(j.rules.Submission.Trace.Slot) }
func (j *optimisticJob) hash() phase0.Hash32 { return j.rules.Submission.Trace.BlockHash }

func (j *optimisticJob) payload() relay.PayloadID { return slots.PayloadOf(j.rules.Submission.Trace) }

func (j *optimisticJob) id() bidID {
	bid := j.rules.Submission.Bid()
	return idOf(&bid)
}

// jobOf keeps of a submission what its execution will need besides the escrow.
func jobOf(s *relay.Submission, rules *check.Case, now time.Time) *optimisticJob {
	job := &optimisticJob{rules: *rules, since: now}
	job.rules.Submission = &relay.Submission{
		Fork: s.Fork, Trace: s.Trace, Signature: s.Signature, ReceivedAt: s.ReceivedAt, Identified: s.Identified,
	}
	return job
}

// queueSimulation has a bid simulated that counts already.
func (p *Pipeline) queueSimulation(_ context.Context, a *attempt) *relay.Refused {
	p.queueJob(jobOf(a.submission, a.rules, p.Clock.Now()))
	return nil
}

// queueJob has a bid simulated at the value that it was shown with. One above what its block was
// found to pay comes first.
func (p *Pipeline) queueJob(job *optimisticJob) {
	if paid := p.Slots.Paid(job.payload()); paid != nil && job.rules.Submission.Trace.Value.Gt(paid) {
		job.abovePaid = true
	}
	p.optimistic.add(job)
}

// Needs says whether a payload of the slot is still to be executed, so that the escrow must not
// forget it.
func (p *Pipeline) Needs(slot phase0.Slot) bool { return p.optimistic.holdsSlot(slot) }

// Pauses between tries when nobody could execute a block, and how long a delivered one is tried, in
// wall time.
var pauses = backoff.Doubling{First: 50 * time.Millisecond, Longest: 5 * time.Second}

// giveUpTries is about an hour of the longest pauses.
const giveUpTries = 720

// Run executes what was accepted optimistically until the context ends.
func (p *Pipeline) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for range max(p.Executors, 1) {
		group.Go(func() error { return p.runQueue(ctx) })
	}
	return group.Wait()
}

func (p *Pipeline) runQueue(ctx context.Context) error {
	for {
		job, wait := p.optimistic.next(time.Now())
		if job != nil {
			p.simulateQueued(ctx, job)
			continue
		}
		var retry <-chan time.Time
		if wait > 0 {
			retry = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.optimistic.wake:
		case <-retry:
		}
	}
}

// simulateQueued verifies and executes one bid that was accepted optimistically.
func (p *Pipeline) simulateQueued(ctx context.Context, job *optimisticJob) {
	if job.rules.SignatureLater {
		if refused := verifySignature(&job.rules, nil); refused != nil {
			p.demote(ctx, job, relay.DemotedSignature, refused.Error(), nil)
			return
		}
		job.rules.SignatureLater = false
	}
	// no execution can find more than that it keeps its promise
	if paid := p.Slots.ProvenPayment(job.rules.Submission.Trace); paid != nil {
		p.markVerified(job)
		p.optimistic.remove(job)
		p.recordSimulated(job, "valid", "", "", paid)
		return
	}
	contents, verdict := p.verdict(ctx, job)
	switch {
	case verdict.Class == exec.Valid:
		p.Slots.NotePaid(job.rules.Submission.Trace, verdict.PaidWei)
		p.markVerified(job)
		p.optimistic.remove(job)
		p.recordSimulated(job, "valid", "", "", verdict.PaidWei)
	case verdict.Class == exec.Invalid:
		p.Slots.NoteShortfall(job.rules.Submission.Trace, verdict.PaidWei)
		p.demote(ctx, job, string(verdict.Rule), verdict.Detail, contents)
	case ctx.Err() != nil: // the relay stops: nothing is known
		p.optimistic.retry(job, time.Now())
	case job.tries >= giveUpTries, !p.optimistic.isDelivered(job) && p.slotIsOver(job):
		p.optimistic.remove(job)
		p.recordSimulated(job, "infrastructure", string(verdict.Rule), verdict.Detail, nil)
		p.trouble("execute a block that was accepted optimistically", fmt.Errorf("%s: %s", verdict.Rule, verdict.Detail))
	default:
		p.optimistic.retry(job, time.Now())
	}
}

// slotIsOver says that nobody will ask for the block any more.
func (p *Pipeline) slotIsOver(job *optimisticJob) bool {
	return p.Spec.SlotAt(p.Clock.Now()) > job.slot()+1
}

func (p *Pipeline) verdict(ctx context.Context, job *optimisticJob) (*relay.Contents, exec.Verdict) {
	contents, err := p.Escrow.Get(ctx, job.payload())
	switch {
	case err != nil:
		return nil, exec.Verdict{Class: exec.Infrastructure, Detail: err.Error()}
	case contents == nil:
		return nil, exec.Verdict{Class: exec.Infrastructure, Detail: "the payload is no longer in the escrow"}
	}
	ctx, cancel := context.WithTimeout(ctx, p.ValidationTimeout)
	defer cancel()
	block := blockOf(contents, job.rules.Attributes.ParentRoot, job.rules.Duty.Registration.Message.GasLimit)
	block.Trace, block.Signature = job.rules.Submission.Trace, job.rules.Submission.Signature
	block.FeeRecipient, block.ValueWei = block.Trace.ProposerFeeRecipient, block.Trace.Value
	block.Priority, block.Source.Key = exec.Known, block.Trace.BuilderPubkey
	if job.rules.Builder.HighPriority || job.abovePaid || p.optimistic.isDelivered(job) {
		block.Priority = exec.High
	}
	return contents, p.Validator.Validate(ctx, block)
}

// markVerified remembers that a bid's block is valid.
func (p *Pipeline) markVerified(job *optimisticJob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bid := job.rules.Submission.Bid()
	if known := p.prepared[idOf(&bid)]; known != nil {
		known.verified = true
	}
}

// demote ends the trust in a builder: its record changes, its unverified bids are taken back, and
// what proves it is kept.
func (p *Pipeline) demote(ctx context.Context, job *optimisticJob, rule, detail string, contents *relay.Contents) {
	delivered := p.optimistic.remove(job)
	p.recordSimulated(job, "invalid", rule, detail, p.Slots.Paid(job.payload()))
	s := job.rules.Submission
	reason := relay.Demotion{Signature: s.Signature, Rule: rule, Detail: detail, Delivered: delivered,
		Trace: bareTrace(s.Trace)}
	if contents != nil {
		// The payload may have come under another message, at another value: what is held against the
		// builder is what it signed here.
		evidence := *contents
		evidence.Trace, evidence.Raw = s.Trace, nil
		reason.Trace = evidence.FlatTrace()
		if err := p.Evidence.Keep(ctx, &evidence); err != nil {
			p.trouble("keep evidence", err)
		}
	}
	builder := job.rules.Builder
	if err := p.Builders.Demote(p.Clock.Now(), builder.Name, reason); err != nil {
		p.trouble("demote builder", err)
	}
	p.withdrawUnverified(builder.Pubkeys)
}

func (p *Pipeline) recordSimulated(job *optimisticJob, class, rule, detail string, paidWei *uint256.Int) {
	p.Facts.Record(relay.SubmissionExecuted{
		At: p.Clock.Now(), Slot: job.slot(), BlockHash: job.hash(), Builder: job.rules.Submission.Trace.BuilderPubkey,
		ValueWei: job.rules.Submission.Trace.Value, PaidWei: paidWei, Class: class, Rule: rule, Detail: detail,
		Delivered: job.delivered,
	})
}
