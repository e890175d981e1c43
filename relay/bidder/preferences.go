package bidder

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// SetCap keeps the highest payment within the payload that a proposer counts in a slot. The newest
// one counts. It returns when the journal has it. A refused request changes nothing. Errors are
// *relay.Refused.
func (b *Bidder) SetCap(ctx context.Context, at time.Time, proposer phase0.BLSPubKey,
	request *gloas.BuilderPreferencesRequest) error {
	slot := request.Auth.Message.Slot
	if b.Spec.ForkAt(slot).HasBlindedBlocks() {
		return relay.BeforeGloas.With("slot %d", slot)
	}
	if now := max(b.Spec.SlotAt(at), b.Chain.Head().Slot); slot < now {
		return relay.AuthSlot.With("slot %d is over, it is slot %d", slot, now)
	}
	if refused := b.authentic(slot, proposer, request.Auth); refused != nil {
		return refused
	}
	// The duty bounds how much is kept: a validator's signature costs nothing.
	if duty := b.Chain.Duty(slot); duty == nil || duty.Proposer != proposer {
		return relay.PreferencesNotProposer.With("slot %d", slot)
	}
	capped := relay.PaymentCapped{At: at, Slot: slot, Proposer: proposer, MaxGwei: request.Preferences.MaxExecutionPayment}
	// The same cap again, as validators send it, does not make the journal grow.
	if known := b.capOf(capKey{proposer, slot}); known == nil || *known != capped.MaxGwei {
		if err := b.Caps.Keep(ctx, capped); err != nil {
			return relay.PreferencesNotKept.Plain()
		}
	}
	b.Adopt(capped)
	return nil
}

// Adopt takes a cap from the journal: of an earlier process, or of another instance. An older one
// than is known changes nothing.
func (b *Bidder) Adopt(capped relay.PaymentCapped) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := capKey{capped.Proposer, capped.Slot}
	if known, said := b.caps[key]; !said || !capped.At.Before(known.At) {
		b.caps[key] = capped
	}
}

// capOf returns nil if the proposer has not said what it counts.
func (b *Bidder) capOf(key capKey) *phase0.Gwei {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, said := b.caps[key]; said {
		return &known.MaxGwei
	}
	return nil
}

// authentic refuses a request that is not for this relay, or not of the proposer and for the slot
// that it names.
func (b *Bidder) authentic(slot phase0.Slot, proposer phase0.BLSPubKey,
	auth *gloas.SignedBuilderRequestAuth) *relay.Refused {
	if len(auth.Message.Data) == 0 || !slices.ContainsFunc(b.AuthData, func(own []byte) bool {
		return bytes.Equal(own, auth.Message.Data)
	}) {
		return relay.AuthData.With("%.90q", auth.Message.Data)
	}
	if auth.Message.Slot != slot {
		return relay.AuthSlot.With("slot %d was signed, the path has %d", auth.Message.Slot, slot)
	}
	root, err := gloas.Mainnet.BuilderRequestAuth.Root(auth.Message)
	if err != nil {
		return relay.Malformed.With("hash auth: %v", err)
	}
	request := verified{proposer, root, auth.Signature}
	if b.isVerified(slot, request) {
		return nil
	}
	if err := bls.Verify(proposer, eth.SigningRoot(root, gloas.RequestAuthDomain(b.Spec)), auth.Signature); err != nil {
		return relay.AuthSignature.With("%v", err)
	}
	// The duty bounds how much is kept.
	if duty := b.Chain.Duty(slot); duty != nil && duty.Proposer == proposer {
		b.noteVerified(slot, request)
	}
	return nil
}

func (b *Bidder) isVerified(slot phase0.Slot, request verified) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.verified[slot] == request
}

func (b *Bidder) noteVerified(slot phase0.Slot, request verified) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.verified[slot] = request
}
