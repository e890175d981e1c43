package receive

import (
	"context"
	"errors"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// check gathers what the rules compare with and applies them.
func (d *Desk) check(s *relay.Submission) (*check.Case, *relay.Refused) {
	slot := phase0.Slot(s.Trace.Slot)
	facts := &check.Case{
		Spec: d.Spec, Submission: s, HeadSlot: d.Chain.Head().Slot, NowSlot: d.Spec.SlotAt(d.Clock.Now()),
		Delivered: d.Deliveries.Delivered(slot),
		Duty:      d.Chain.Duty(slot), Attributes: d.Chain.Attributes(slot, s.Trace.ParentHash),
	}
	return facts, check.Run(facts)
}

// execute has the block executed on its parent's state. Only a block that breaks a rule is called invalid; whatever keeps us from finding
// out is our own trouble and says so (decision 11).
func (d *Desk) execute(ctx context.Context, s *relay.Submission, facts *check.Case) *relay.Refused {
	ctx, cancel := context.WithTimeout(ctx, d.ValidationTimeout)
	defer cancel()
	verdict := d.Validator.Validate(ctx, &exec.Block{
		Fork: s.Fork, Payload: s.Payload, Blobs: s.Blobs, Requests: s.Requests, ParentBeaconRoot: facts.Attributes.ParentRoot,
		RegisteredGasLimit: facts.Duty.Registration.Message.GasLimit, FeeRecipient: s.Trace.ProposerFeeRecipient, ValueWei: s.Trace.Value,
	})
	switch {
	case verdict.Class == exec.Valid:
		return nil
	case verdict.Class == exec.Invalid:
		return relay.SubmissionInvalid.With("%s: %s", verdict.Rule, verdict.Detail)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return relay.SubmissionTimeout.With("more than %v", d.ValidationTimeout)
	default:
		return relay.SubmissionUnverifiable.With("%s: %s", verdict.Rule, verdict.Detail)
	}
}
