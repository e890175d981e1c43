package submit

import (
	"context"
	"errors"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// simulate has the block executed on its parent's state. Only a block that breaks a rule is called
// invalid. If the relay could not find out, the refusal says that nothing is wrong with the block
// (decision 11).
func (p *Pipeline) simulate(ctx context.Context, a *attempt) *relay.Refused {
	s := a.submission
	signature := make(chan *relay.Refused, 1)
	go func() {
		if a.rules.SignatureLater {
			signature <- verifySignature(a.rules, nil)
		}
		close(signature)
	}()
	ctx, cancel := context.WithTimeout(ctx, p.ValidationTimeout)
	defer cancel()
	block := blockOf(s.Contents(), a.rules.Attributes.ParentRoot, a.rules.Duty.Registration.Message.GasLimit)
	block.Trace, block.Signature = s.Trace, s.Signature
	block.Priority = p.priority(s, a.rules.Builder)
	block.Source = exec.Source{Address: s.From, Key: s.Trace.BuilderPubkey}
	verdict := p.Validator.Validate(ctx, block)
	p.senders.learn(s, verdict.Class)
	if refused := <-signature; refused != nil {
		return refused
	}
	switch {
	case verdict.Class == exec.Valid:
		a.paidWei = verdict.PaidWei
		return nil
	case verdict.Class == exec.Invalid:
		return relay.SubmissionInvalid.With("%s: %s", verdict.Rule, verdict.Detail)
	case verdict.Rule == exec.RuleCrowded:
		p.reportOverload(s, "validate blocks: more wait than there is room for")
		return relay.SubmissionCrowded.Plain()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.reportOverload(s, "validate blocks in time")
		return relay.SubmissionTimeout.With("more than %v", p.ValidationTimeout)
	default:
		return relay.SubmissionUnverifiable.With("%s: %s", verdict.Rule, verdict.Detail)
	}
}

// blockOf is the block of a submission as the validator executes it.
func blockOf(c *relay.Contents, parentRoot phase0.Root, registeredGasLimit uint64) *exec.Block {
	return &exec.Block{
		Fork: c.Fork, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests, Gloas: c.Gloas, ParentBeaconRoot: parentRoot,
		RegisteredGasLimit: registeredGasLimit, FeeRecipient: c.Trace.ProposerFeeRecipient, ValueWei: c.Trace.Value,
		Trace: c.Trace,
	}
}
