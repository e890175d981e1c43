package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// ExecutionRequests are what transactions of a block ask of the beacon chain (EIP-7685), with the
// requests of builders (EIP-8282).
type ExecutionRequests struct {
	Deposits        []*electra.DepositRequest       `ssz-index:"0" ssz-type:"progressive-list"`
	Withdrawals     []*electra.WithdrawalRequest    `ssz-index:"1" ssz-type:"progressive-list"`
	Consolidations  []*electra.ConsolidationRequest `ssz-index:"2" ssz-type:"progressive-list"`
	BuilderDeposits []*BuilderDepositRequest        `ssz-index:"3" ssz-type:"progressive-list"`
	BuilderExits    []*BuilderExitRequest           `ssz-index:"4" ssz-type:"progressive-list"`
}

// BuilderDepositRequest makes a builder, or adds to its balance.
type BuilderDepositRequest struct {
	Pubkey                phase0.BLSPubKey
	WithdrawalCredentials phase0.Root
	Amount                phase0.Gwei
	Signature             phase0.BLSSignature
}

// BuilderExitRequest ends a builder.
type BuilderExitRequest struct {
	SourceAddress bellatrix.ExecutionAddress
	Pubkey        phase0.BLSPubKey
}

func depositRequestShape() shape.Shape[electra.DepositRequest] {
	type r = electra.DepositRequest
	return shape.Container(
		shape.In("pubkey", pubkey, func(r *r) *phase0.BLSPubKey { return &r.Pubkey }),
		shape.In("withdrawal_credentials", shape.Slice(32), func(r *r) *[]byte { return &r.WithdrawalCredentials }),
		number("amount", func(r *r) *phase0.Gwei { return &r.Amount }),
		shape.In("signature", signature, func(r *r) *phase0.BLSSignature { return &r.Signature }),
		number("index", func(r *r) *uint64 { return &r.Index }),
	)
}

func withdrawalRequestShape() shape.Shape[electra.WithdrawalRequest] {
	type r = electra.WithdrawalRequest
	return shape.Container(
		shape.In("source_address", address, func(r *r) *bellatrix.ExecutionAddress { return &r.SourceAddress }),
		shape.In("validator_pubkey", pubkey, func(r *r) *phase0.BLSPubKey { return &r.ValidatorPubkey }),
		number("amount", func(r *r) *phase0.Gwei { return &r.Amount }),
	)
}

func consolidationRequestShape() shape.Shape[electra.ConsolidationRequest] {
	type r = electra.ConsolidationRequest
	return shape.Container(
		shape.In("source_address", address, func(r *r) *bellatrix.ExecutionAddress { return &r.SourceAddress }),
		shape.In("source_pubkey", pubkey, func(r *r) *phase0.BLSPubKey { return &r.SourcePubkey }),
		shape.In("target_pubkey", pubkey, func(r *r) *phase0.BLSPubKey { return &r.TargetPubkey }),
	)
}

func builderDepositShape() shape.Shape[BuilderDepositRequest] {
	type r = BuilderDepositRequest
	return shape.Container(
		shape.In("pubkey", pubkey, func(r *r) *phase0.BLSPubKey { return &r.Pubkey }),
		shape.In("withdrawal_credentials", root, func(r *r) *phase0.Root { return &r.WithdrawalCredentials }),
		number("amount", func(r *r) *phase0.Gwei { return &r.Amount }),
		shape.In("signature", signature, func(r *r) *phase0.BLSSignature { return &r.Signature }),
	)
}

func builderExitShape() shape.Shape[BuilderExitRequest] {
	type r = BuilderExitRequest
	return shape.Container(
		shape.In("source_address", address, func(r *r) *bellatrix.ExecutionAddress { return &r.SourceAddress }),
		shape.In("pubkey", pubkey, func(r *r) *phase0.BLSPubKey { return &r.Pubkey }),
	)
}

func requestsShape() shape.Shape[ExecutionRequests] {
	type r = ExecutionRequests
	return shape.ProgressiveContainer(
		shape.In("deposits", shape.Progressive(shape.Pointer(depositRequestShape())),
			func(r *r) *[]*electra.DepositRequest { return &r.Deposits }),
		shape.In("withdrawals", shape.Progressive(shape.Pointer(withdrawalRequestShape())),
			func(r *r) *[]*electra.WithdrawalRequest { return &r.Withdrawals }),
		shape.In("consolidations", shape.Progressive(shape.Pointer(consolidationRequestShape())),
			func(r *r) *[]*electra.ConsolidationRequest { return &r.Consolidations }),
		shape.In("builder_deposits", shape.Progressive(shape.Pointer(builderDepositShape())),
			func(r *r) *[]*BuilderDepositRequest { return &r.BuilderDeposits }),
		shape.In("builder_exits", shape.Progressive(shape.Pointer(builderExitShape())),
			func(r *r) *[]*BuilderExitRequest { return &r.BuilderExits }),
	)
}
