package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// Builder is a staked builder in the beacon state.
type Builder struct {
	Pubkey           phase0.BLSPubKey
	Version          uint8
	ExecutionAddress bellatrix.ExecutionAddress
	Balance          phase0.Gwei
	DepositEpoch     phase0.Epoch
	// WithdrawableEpoch is FarFuture until the builder exits.
	WithdrawableEpoch phase0.Epoch
}

// FarFuture is FAR_FUTURE_EPOCH.
const FarFuture = ^phase0.Epoch(0)

// PayloadBuilderVersion is the version of builders whose bids count (PAYLOAD_BUILDER_VERSION).
const PayloadBuilderVersion = 0

// BuilderPendingWithdrawal is owed to a proposer by a builder.
type BuilderPendingWithdrawal struct {
	FeeRecipient bellatrix.ExecutionAddress
	Amount       phase0.Gwei
	BuilderIndex BuilderIndex
}

// BuilderPendingPayment becomes a withdrawal if its slot's block gets enough votes. Weight is what
// the votes of the same slot stand for.
type BuilderPendingPayment struct {
	Weight        phase0.Gwei
	Withdrawal    *BuilderPendingWithdrawal
	ProposerIndex phase0.ValidatorIndex
}

func builderShape() shape.Shape[Builder] {
	type b = Builder
	return shape.Container(
		shape.In("pubkey", pubkey, func(b *b) *phase0.BLSPubKey { return &b.Pubkey }),
		shape.In("version", shape.Octet[uint8](), func(b *b) *uint8 { return &b.Version }),
		shape.In("execution_address", address, func(b *b) *bellatrix.ExecutionAddress { return &b.ExecutionAddress }),
		number("balance", func(b *b) *phase0.Gwei { return &b.Balance }),
		number("deposit_epoch", func(b *b) *phase0.Epoch { return &b.DepositEpoch }),
		number("withdrawable_epoch", func(b *b) *phase0.Epoch { return &b.WithdrawableEpoch }),
	)
}

func pendingWithdrawalShape() shape.Shape[BuilderPendingWithdrawal] {
	type w = BuilderPendingWithdrawal
	return shape.Container(
		shape.In("fee_recipient", address, func(w *w) *bellatrix.ExecutionAddress { return &w.FeeRecipient }),
		number("amount", func(w *w) *phase0.Gwei { return &w.Amount }),
		number("builder_index", func(w *w) *BuilderIndex { return &w.BuilderIndex }),
	)
}

func pendingPaymentShape() shape.Shape[BuilderPendingPayment] {
	type p = BuilderPendingPayment
	return shape.Container(
		number("weight", func(p *p) *phase0.Gwei { return &p.Weight }),
		shape.In("withdrawal", shape.Pointer(pendingWithdrawalShape()),
			func(p *p) **BuilderPendingWithdrawal { return &p.Withdrawal }),
		number("proposer_index", func(p *p) *phase0.ValidatorIndex { return &p.ProposerIndex }),
	)
}
