package submit

import (
	"context"
	"errors"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// caseFacts is what a submission is judged by.
type caseFacts = check.Case

// caseOf gathers what the rules compare a submission with.
func (p *Pipeline) caseOf(s *relay.Submission) *caseFacts {
	slot := phase0.Slot(s.Trace.Slot)
	return &check.Case{
		Spec: p.Spec, Submission: s, HeadSlot: p.Chain.Head().Slot, NowSlot: p.Spec.SlotAt(p.Clock.Now()),
		Builder: p.Builders.Of(s.Trace.BuilderPubkey), Delivered: p.Deliveries.Delivered(slot),
		Duty: p.Chain.Duty(slot), Attributes: p.Chain.Attributes(slot, s.Trace.ParentHash),
	}
}

// check applies the rules. The signature of a bid that an API key vouches for is verified later:
// beside the execution, or after the bid counts. While another one's is verified, the transactions
// are hashed.
func (p *Pipeline) check(ctx context.Context, facts *caseFacts) *relay.Refused {
	defer observe.Stage(ctx, observe.Check)()
	facts.SignatureLater = facts.Submission.Identified
	if facts.Header != nil || facts.SignatureLater {
		return check.Run(facts)
	}
	if refused := check.First(check.BeforeSignature, facts); refused != nil {
		return refused
	}
	if hash := facts.Submission.Ahead.TransactionsRoot; hash != nil &&
		bytesOf(facts.Submission.Payload.Transactions) <= hashedUnverified {
		go func() { _, _ = hash() }() // who needs the root is told what is wrong
	}
	return check.Signature(facts)
}

// hashedUnverified is how many bytes of transactions are hashed before the signature has shown
// whose they are: that costs less than the signature.
const hashedUnverified = 512 << 10

func bytesOf(transactions []bellatrix.Transaction) (bytes int) {
	for _, tx := range transactions {
		bytes += len(tx)
	}
	return bytes
}

// verifySignature is the rule that check left out.
func verifySignature(facts *caseFacts) *relay.Refused {
	now := *facts
	now.SignatureLater = false
	return check.Signature(&now)
}

// simulate has the block executed on its parent's state. Only a block that breaks a rule is called
// invalid; whatever keeps us from finding out is our own trouble and says so (decision 11). paidWei
// is nil if the execution does not say.
func (p *Pipeline) simulate(ctx context.Context, s *relay.Submission,
	facts *caseFacts) (paidWei *uint256.Int, _ *relay.Refused) {
	defer observe.Stage(ctx, observe.Simulate)()
	signature := make(chan *relay.Refused, 1)
	go func() {
		if facts.SignatureLater {
			signature <- verifySignature(facts)
		}
		close(signature)
	}()
	ctx, cancel := context.WithTimeout(ctx, p.ValidationTimeout)
	defer cancel()
	block := blockOf(s.Contents(), facts.Attributes.ParentRoot, facts.Duty.Registration.Message.GasLimit)
	block.Trace, block.Signature = s.Trace, s.Signature
	block.Priority, block.Source = p.priority(s, facts.Builder), exec.Source{Address: s.From, Key: s.Trace.BuilderPubkey}
	verdict := p.Validator.Validate(ctx, block)
	p.senders.learn(s, verdict.Class)
	if refused := <-signature; refused != nil {
		return nil, refused
	}
	switch {
	case verdict.Class == exec.Valid:
		return verdict.PaidWei, nil
	case verdict.Class == exec.Invalid:
		return nil, relay.SubmissionInvalid.With("%s: %s", verdict.Rule, verdict.Detail)
	case verdict.Rule == exec.RuleCrowded:
		p.overrun(s, "validate blocks: more wait than there is room for")
		return nil, relay.SubmissionCrowded.Plain()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.overrun(s, "validate blocks in time")
		return nil, relay.SubmissionTimeout.With("more than %v", p.ValidationTimeout)
	default:
		return nil, relay.SubmissionUnverifiable.With("%s: %s", verdict.Rule, verdict.Detail)
	}
}

// blockOf is what is executed of a submission.
func blockOf(c *relay.Contents, parentRoot phase0.Root, registeredGasLimit uint64) *exec.Block {
	return &exec.Block{
		Fork: c.Fork, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests, ParentBeaconRoot: parentRoot,
		RegisteredGasLimit: registeredGasLimit, FeeRecipient: c.Trace.ProposerFeeRecipient, ValueWei: c.Trace.Value,
		Trace: c.Trace,
	}
}
