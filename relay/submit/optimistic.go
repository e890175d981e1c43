package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/slots"
)

// optimisticJob is a bid that counts before its block is executed at its value. It does not hold
// the payload, which is in the escrow, so that many bids need little memory.
type optimisticJob struct {
	rules     check.Case // its Submission has no payload
	since     time.Time
	tries     int
	notBefore time.Time // wall time
	running   bool
	delivered bool
	abovePaid bool // an execution has found that its block pays less
	// backup: another instance has taken the bid, and this one executes its block only if that one
	// does not.
	backup bool
}

func (j *optimisticJob) slot() phase0.Slot   { return phase0.Slot(j.rules.Submission.Trace.Slot) }
func (j *optimisticJob) hash() phase0.Hash32 { return j.rules.Submission.Trace.BlockHash }

func (j *optimisticJob) payload() relay.PayloadID { return slots.PayloadOf(j.rules.Submission.Trace) }

func (j *optimisticJob) id() bidID {
	bid := j.rules.Submission.Bid()
	return idOf(&bid)
}

// jobOf makes a job of the parts of a submission that its execution needs besides the payload in
// the escrow.
func jobOf(s *relay.Submission, rules *check.Case, now time.Time) *optimisticJob {
	job := &optimisticJob{rules: *rules, since: now}
	job.rules.Submission = &relay.Submission{
		Fork: s.Fork, Trace: s.Trace, Signature: s.Signature, ReceivedAt: s.ReceivedAt, Identified: s.Identified,
	}
	return job
}

// queueSimulation queues the simulation of a bid that counts already.
func (p *Pipeline) queueSimulation(_ context.Context, a *attempt) *relay.Refused {
	if a.distrusted {
		return nil
	}
	p.queueJob(jobOf(a.submission, a.rules, p.Clock.Now()))
	return nil
}

// queueJob queues the simulation of a bid at the value that it was offered with. It marks a bid
// above what its block was found to pay, which the queue runs earlier.
func (p *Pipeline) queueJob(job *optimisticJob) {
	if paid := p.Slots.Paid(job.payload()); paid != nil && job.rules.Submission.Trace.Value.Gt(paid) {
		job.abovePaid = true
	}
	p.optimistic.add(job)
}

// Needs says whether a payload of the slot is still to be executed. While it is, the escrow must
// keep it.
func (p *Pipeline) Needs(slot phase0.Slot) bool { return p.optimistic.holdsSlot(slot) }

// pauses are the waits between tries after no node could execute a block, in wall time.
var pauses = run.Backoff{First: 50 * time.Millisecond, Longest: 5 * time.Second}

// giveUpTries is how often a delivered block is tried: about an hour of the longest pauses.
const giveUpTries = 720

// Run simulates the bids in the optimistic queue until the context ends.
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
	if job.backup && p.isSettled(job) {
		p.optimistic.remove(job)
		return
	}
	if job.rules.SignatureLater {
		if refused := verifySignature(&job.rules, nil); refused != nil {
			p.demote(ctx, job, relay.DemotedSignature, refused.Error(), nil)
			return
		}
		job.rules.SignatureLater = false
	}
	// The block is proven to pay at least this value, so another execution would find nothing new.
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
	case ctx.Err() != nil: // the relay stops, so nothing was found
		p.optimistic.retry(job, time.Now())
	case job.tries >= giveUpTries, !p.optimistic.isDelivered(job) && p.slotIsOver(job):
		p.optimistic.remove(job)
		p.recordSimulated(job, "infrastructure", string(verdict.Rule), verdict.Detail, nil)
		p.reportFailure("execute a block that was accepted optimistically",
			fmt.Errorf("%s: %s", verdict.Rule, verdict.Detail))
	default:
		p.optimistic.retry(job, time.Now())
	}
}

// isSettled says whether the instance that took a bid has executed its block, or has demoted its
// builder. If not, what this instance knows of the slot is brought up to date.
func (p *Pipeline) isSettled(job *optimisticJob) bool {
	s := job.rules.Submission
	if p.Slots.ProvenPayment(s.Trace) != nil || !p.Builders.Of(s.Trace.BuilderPubkey).Optimistic {
		return true
	}
	now := p.caseOf(s)
	job.rules.Builder, job.rules.Duty, job.rules.Attributes = now.Builder, now.Duty, now.Attributes
	return false
}

// slotIsOver says whether no proposer will ask for the block any more.
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
	case job.rules.Attributes == nil || job.rules.Duty == nil || job.rules.Duty.Registration == nil:
		return nil, exec.Verdict{Class: exec.Infrastructure, Detail: "nothing is known of the slot yet"}
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

// markVerified notes that a bid's block is valid.
func (p *Pipeline) markVerified(job *optimisticJob) {
	if p.shared != nil {
		p.tellVerified(job.rules.Submission.Trace)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	bid := job.rules.Submission.Bid()
	if known := p.prepared[idOf(&bid)]; known != nil {
		known.verified = true
	}
}

// demote ends a builder's optimistic mode: its record changes, its unverified bids are withdrawn,
// and the proof is kept.
func (p *Pipeline) demote(ctx context.Context, job *optimisticJob, rule, detail string, contents *relay.Contents) {
	delivered := p.optimistic.remove(job)
	p.recordSimulated(job, "invalid", rule, detail, p.Slots.Paid(job.payload()))
	s := job.rules.Submission
	reason := relay.Demotion{Signature: s.Signature, Rule: rule, Detail: detail, Delivered: delivered,
		Trace: bareTrace(s.Trace)}
	if contents != nil {
		// The payload may have come with another message, at another value. The evidence against the
		// builder is the message that it signed here.
		evidence := *contents
		evidence.Trace, evidence.Raw = s.Trace, nil
		reason.Trace = evidence.FlatTrace()
		if err := p.Evidence.Keep(ctx, &evidence); err != nil {
			p.reportFailure("keep evidence", err)
		}
	}
	builder := job.rules.Builder
	if err := p.Builders.Demote(p.Clock.Now(), builder.Name, reason); err != nil {
		p.reportFailure("demote builder", err)
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
