package builder

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/relay/client"
)

// errNotBetter says that a block earns no more than what was bid before. The bid that is placed
// stays.
var errNotBetter = errors.New("the block is worth no more than the bid before")

// bid builds one block, pays its proposer and submits it everywhere. A bid that is not higher than
// the last one is not made: a bid once placed is never lowered, and if an order was cancelled
// since, only what the block earns without it can replace it.
func (b *Builder) bid(ctx context.Context, a Attributes, duty client.Duty, i int,
	last *uint256.Int) (*uint256.Int, error) {
	payment := &chain.Payment{From: b.Wallet, To: common.Address(duty.Registration.Message.FeeRecipient)}
	draft, err := b.Node.Draft(ctx, b.argsOf(a, duty, payment))
	if err != nil {
		return nil, err
	}
	draft, placed := b.merge(ctx, draft, b.intake.forBlock(draft.Number(), draft.Timestamp()))
	for _, tx := range choose(b.Node.Pending(), b.Seed, uint64(a.Slot), b.TxLimit) {
		_, _ = draft.Apply(ctx, tx) // what cannot be applied, or is there already, is left out
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	payment.ValueWei = share(draft.GainWei(), b.Seed, uint64(a.Slot), i, b.Bids)
	if !payment.ValueWei.Gt(last) {
		return nil, errNotBetter
	}
	built, err := draft.Finish(ctx)
	if err != nil {
		return nil, err
	}
	request, err := b.sign(a, duty, built)
	if err != nil {
		return nil, err
	}
	b.Log.Debug("bid", "builder", b.Name, "slot", a.Slot, "bid", i, "orders", len(placed), "value_wei", built.PaidWei)
	return built.PaidWei, b.submit(ctx, request)
}

func (b *Builder) argsOf(a Attributes, duty client.Duty, payment *chain.Payment) chain.BuildArgs {
	return chain.BuildArgs{
		Parent: a.ParentHash, Slot: a.Slot, PrevRandao: a.PrevRandao, Withdrawals: a.Withdrawals,
		ParentBeaconRoot: a.ParentRoot,
		Coinbase:         crypto.PubkeyToAddress(b.Wallet.PublicKey), GasLimitTarget: duty.Registration.Message.GasLimit,
		ExtraData: []byte(b.Name[:min(len(b.Name), int(params.MaximumExtraDataSize))]), Payment: payment,
	}
}
