package submit

import (
	"context"
	"errors"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// Fees go to the newest fee recipient: a bid for the one before is not served any more, neither at
// once nor when a better one is cancelled, and what comes for the new one is.
func TestBidsForAnOlderRecipientAreNotServed(t *testing.T) {
	h := newPipeline(t)
	other := bellatrix.ExecutionAddress{0xfd}
	old := h.submission(1, 200)
	h.accept(old, accepted)
	h.top(old)
	h.register(payee, 60_000_000) // the same again changes nothing
	h.top(old)
	h.register(other, 60_000_000)
	if h.served(old.Key()) != (phase0.Hash32{}) {
		t.Error("a bid for the older recipient is served")
	}
	h.refuse(old, relay.SubmissionFeeRecipient)
	h.register(payee, 60_000_000)
	again := h.submission(2, 100)
	h.accept(again, accepted)
	h.top(again)
}

// A lower gas limit takes down the blocks that exceed it; a higher one leaves them: they are within
// it.
func TestBidsAboveALowerGasLimitAreNotServed(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 200)
	h.accept(s, accepted)
	h.register(payee, s.Payload.GasLimit+1_000_000)
	h.top(s)
	h.register(payee, s.Payload.GasLimit-1)
	if h.served(s.Key()) != (phase0.Hash32{}) {
		t.Error("a block above the gas limit is served")
	}
}

// A registration that comes while a block is executed counts for it.
func TestRegistrationWhileABlockIsExecuted(t *testing.T) {
	for name, row := range map[string]struct {
		recipient bellatrix.ExecutionAddress
		gasLimit  uint64
		want      relay.Refusal
	}{
		"another recipient": {bellatrix.ExecutionAddress{0xfd}, 60_000_000, relay.SubmissionFeeRecipient},
		"a lower gas limit": {payee, 21_000, relay.SubmissionGasLimitChanged},
	} {
		t.Run(name, func(t *testing.T) {
			h := newPipeline(t)
			inner := h.validator
			h.validator = validatorFunc(func(ctx context.Context, b *exec.Block) exec.Verdict {
				h.register(row.recipient, row.gasLimit)
				return inner.Validate(ctx, b)
			})
			s := h.submission(1, 200)
			_, err := h.pipeline.Submit(t.Context(), s, nil)
			if refused := (*relay.Refused)(nil); !errors.As(err, &refused) || refused.ID != row.want.ID {
				t.Errorf("%v, want %s", err, row.want.ID)
			}
			if h.served(s.Key()) != (phase0.Hash32{}) {
				t.Error("served all the same")
			}
		})
	}
}
