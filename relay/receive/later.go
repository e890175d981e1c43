package receive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/backoff"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// taken is a bid that counts before its block is executed at its value. It holds no payload: that
// waits in the escrow, however many bids there are.
type taken struct {
	facts     caseFacts // its Submission has no payload
	since     time.Time
	tries     int
	notBefore time.Time // wall time
	running   bool
	delivered bool
	dearer    bool // an execution has found its block to pay less
}

func (t *taken) slot() phase0.Slot   { return phase0.Slot(t.facts.Submission.Trace.Slot) }
func (t *taken) hash() phase0.Hash32 { return t.facts.Submission.Trace.BlockHash }

func (t *taken) payload() relay.PayloadID { return payloadOf(t.facts.Submission.Trace) }

func (t *taken) id() bidID {
	bid := t.facts.Submission.Bid()
	return idOf(&bid)
}

// jobOf keeps of a submission what its execution will need besides the escrow.
func jobOf(s *relay.Submission, facts *caseFacts, now time.Time) *taken {
	job := &taken{facts: *facts, since: now}
	job.facts.Submission = &relay.Submission{
		Fork: s.Fork, Trace: s.Trace, Signature: s.Signature, ReceivedAt: s.ReceivedAt, Identified: s.Identified,
	}
	return job
}

// later is what is still to be executed: each bid by itself, because each value that a block was
// offered at is a promise of its own. Delivered blocks come first, then bids above what their block
// is known to pay, then the newest: what leads now is among them.
type later struct {
	mu   sync.Mutex // guards jobs, what is in them, and last
	jobs map[bidID]*taken
	last phase0.Hash32 // the block that was delivered last
	wake chan struct{} // filled when there may be something to do
}

func (l *later) add(job *taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := job.id(); l.jobs[id] == nil {
		job.delivered = job.delivered || job.hash() == l.last
		l.jobs[id] = job
	}
	l.stir()
}

func (l *later) stir() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next is the job to do now, or how long to wait for the first that may be tried again; 0 is until
// woken.
func (l *later) next(now time.Time) (*taken, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var best *taken
	var wait time.Duration
	for _, job := range l.jobs {
		switch pause := job.notBefore.Sub(now); {
		case job.running:
		case pause > 0:
			if wait == 0 || pause < wait {
				wait = pause
			}
		case best == nil, job.before(best):
			best = job
		}
	}
	if best != nil {
		best.running = true
		l.stir() // there may be more
	}
	return best, wait
}

// before says whether a job is more urgent than another.
func (t *taken) before(other *taken) bool {
	switch {
	case t.delivered != other.delivered:
		return t.delivered
	case t.dearer != other.dearer:
		return t.dearer
	default:
		return t.since.After(other.since)
	}
}

// again puts a job back for another try.
func (l *later) again(job *taken, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	job.tries++
	job.running, job.notBefore = false, now.Add(pauses.After(job.tries))
	l.stir()
}

// done forgets a job and says whether its block was delivered meanwhile.
func (l *later) done(job *taken) (delivered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.jobs, job.id())
	return job.delivered
}

// isDelivered says whether a proposer has signed for the job's block.
func (l *later) isDelivered(job *taken) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return job.delivered
}

// owes says whether a payload is still to be executed.
func (l *later) owes(payload relay.PayloadID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.jobs {
		if id.block == payload.BlockHash && id.builder == payload.Builder {
			return true
		}
	}
	return false
}

// markDelivered moves all bids for a block to the front, also those that come now.
func (l *later) markDelivered(hash phase0.Hash32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = hash
	for id, job := range l.jobs {
		if id.block == hash {
			job.delivered = true
		}
	}
}

// close drops the jobs of slots before one, except delivered blocks and those that are being
// executed.
func (l *later) close(before phase0.Slot) (dropped []*taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, job := range l.jobs {
		if job.slot() < before && !job.delivered && !job.running {
			delete(l.jobs, id)
			dropped = append(dropped, job)
		}
	}
	return dropped
}

// needs says whether a job of the slot is left.
func (l *later) needs(slot phase0.Slot) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, job := range l.jobs {
		if job.slot() == slot {
			return true
		}
	}
	return false
}

// Needs says whether a payload of the slot is still to be executed, so that the escrow must not
// forget it.
func (d *Desk) Needs(slot phase0.Slot) bool { return d.later.needs(slot) }

// Pauses between tries when nobody could execute a block, and how long a delivered one is tried, in
// wall time.
var pauses = backoff.Doubling{First: 50 * time.Millisecond, Longest: 5 * time.Second}

// giveUpTries is about an hour of the longest pauses.
const giveUpTries = 720

// Run executes what was taken on trust until the context ends.
func (d *Desk) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for range max(d.Executors, 1) {
		group.Go(func() error { return d.executeLater(ctx) })
	}
	return group.Wait()
}

func (d *Desk) executeLater(ctx context.Context) error {
	for {
		job, wait := d.later.next(time.Now())
		if job != nil {
			d.finish(ctx, job)
			continue
		}
		var retry <-chan time.Time
		if wait > 0 {
			retry = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.later.wake:
		case <-retry:
		}
	}
}

// finish verifies and executes one bid that was taken on trust.
func (d *Desk) finish(ctx context.Context, job *taken) {
	if job.facts.SignatureLater {
		if refused := verifySignature(&job.facts); refused != nil {
			d.demote(ctx, job, relay.DemotedSignature, refused.Error(), nil)
			return
		}
		job.facts.SignatureLater = false
	}
	// no execution can find more than that it keeps its promise
	if paid := d.proven(job.facts.Submission.Trace); paid != nil {
		d.verified(job)
		d.later.done(job)
		d.executed(job, "valid", "", "", paid)
		return
	}
	contents, verdict := d.verdict(ctx, job)
	switch {
	case verdict.Class == exec.Valid:
		d.prove(job.facts.Submission.Trace, verdict.PaidWei)
		d.verified(job)
		d.later.done(job)
		d.executed(job, "valid", "", "", verdict.PaidWei)
	case verdict.Class == exec.Invalid:
		d.found(job.facts.Submission.Trace, verdict.PaidWei)
		d.demote(ctx, job, string(verdict.Rule), verdict.Detail, contents)
	case ctx.Err() != nil: // the relay stops: nothing is known
		d.later.again(job, time.Now())
	case job.tries >= giveUpTries, !d.later.isDelivered(job) && d.over(job):
		d.later.done(job)
		d.executed(job, "infrastructure", string(verdict.Rule), verdict.Detail, nil)
		d.trouble("execute a block that was taken on trust", fmt.Errorf("%s: %s", verdict.Rule, verdict.Detail))
	default:
		d.later.again(job, time.Now())
	}
}

// over says that nobody will ask for the block any more.
func (d *Desk) over(job *taken) bool { return d.Spec.SlotAt(d.Clock.Now()) > job.slot()+1 }

func (d *Desk) verdict(ctx context.Context, job *taken) (*relay.Contents, exec.Verdict) {
	contents, err := d.Escrow.Get(ctx, job.payload())
	switch {
	case err != nil:
		return nil, exec.Verdict{Class: exec.Infrastructure, Detail: err.Error()}
	case contents == nil:
		return nil, exec.Verdict{Class: exec.Infrastructure, Detail: "the payload is no longer in the escrow"}
	}
	ctx, cancel := context.WithTimeout(ctx, d.ValidationTimeout)
	defer cancel()
	block := blockOf(contents, job.facts.Attributes.ParentRoot, job.facts.Duty.Registration.Message.GasLimit)
	block.Trace, block.Signature = job.facts.Submission.Trace, job.facts.Submission.Signature
	block.FeeRecipient, block.ValueWei = block.Trace.ProposerFeeRecipient, block.Trace.Value
	block.Priority, block.Source.Key = exec.Known, block.Trace.BuilderPubkey
	if job.facts.Builder.HighPriority || job.dearer || d.later.isDelivered(job) {
		block.Priority = exec.High
	}
	return contents, d.Validator.Validate(ctx, block)
}

// verified remembers that a bid's block is valid.
func (d *Desk) verified(job *taken) {
	d.mu.Lock()
	defer d.mu.Unlock()
	bid := job.facts.Submission.Bid()
	if known := d.prepared[idOf(&bid)]; known != nil {
		known.verified = true
	}
}

// demote ends the trust in a builder: its record changes, its unverified bids are taken back, and
// what proves it is kept.
func (d *Desk) demote(ctx context.Context, job *taken, rule, detail string, contents *relay.Contents) {
	delivered := d.later.done(job)
	d.executed(job, "invalid", rule, detail, d.paid(job.payload()))
	s := job.facts.Submission
	reason := relay.Demotion{Signature: s.Signature, Rule: rule, Detail: detail, Delivered: delivered,
		Trace: bareTrace(s.Trace)}
	if contents != nil {
		// The payload may have come under another message, at another value: what is held against the
		// builder is what it signed here.
		evidence := *contents
		evidence.Trace, evidence.Raw = s.Trace, nil
		reason.Trace = evidence.FlatTrace()
		if err := d.Evidence.Keep(ctx, &evidence); err != nil {
			d.trouble("keep evidence", err)
		}
	}
	builder := job.facts.Builder
	if err := d.Builders.Demote(d.Clock.Now(), builder.Name, reason); err != nil {
		d.trouble("demote builder", err)
	}
	d.takeBack(builder.Pubkeys)
}

func (d *Desk) executed(job *taken, class, rule, detail string, paidWei *uint256.Int) {
	d.Facts.Record(relay.SubmissionExecuted{
		At: d.Clock.Now(), Slot: job.slot(), BlockHash: job.hash(), Builder: job.facts.Submission.Trace.BuilderPubkey,
		ValueWei: job.facts.Submission.Trace.Value, PaidWei: paidWei, Class: class, Rule: rule, Detail: detail,
		Delivered: job.delivered,
	})
}

// bareTrace is all that a signed message says.
func bareTrace(t *relay.BidTrace) relay.Trace {
	return relay.Trace{
		Slot: phase0.Slot(t.Slot), ParentHash: t.ParentHash, BlockHash: t.BlockHash, Builder: t.BuilderPubkey,
		Proposer:     t.ProposerPubkey,
		FeeRecipient: t.ProposerFeeRecipient, GasLimit: t.GasLimit, GasUsed: t.GasUsed, ValueWei: t.Value,
	}
}

// Record implements relay.Facts: a delivered block is executed first, also when its slot is long
// over.
func (d *Desk) Record(fact relay.Fact) {
	if delivered, ok := fact.(relay.PayloadDelivered); ok {
		d.later.markDelivered(delivered.BlockHash)
	}
}

var _ relay.Facts = (*Desk)(nil)
