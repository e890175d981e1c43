package builder

import (
	"context"
	"crypto/ecdsa"
	"errors"

	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/orders"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/relay/client"
)

// ErrNotBetter says that a block earns no more than what was bid before. The bid before then stays.
var ErrNotBetter = errors.New("the block is worth no more than the bid before")

// Offer is a bid before it is sent: a block, and what a relay gets of it.
type Offer struct {
	Built   *chain.Built
	Request *builderspec.VersionedSubmitBlockRequest
	// Sequence numbers the bid; 0 if the builder numbers none.
	Sequence uint64
}

// Offer makes the bid that a decision says, and sends it to nobody. It is for a builder that does
// not run. The error is ErrNotBetter if the block is worth no more than the bid before.
func (b *Builder) Offer(ctx context.Context, a Attributes, duty client.Duty, d Decision) (*Offer, error) {
	built, err := b.block(ctx, a, duty, d)
	if err != nil {
		return nil, err
	}
	one, err := b.sign(a, duty, built, built.PaidWei)
	if err != nil {
		return nil, err
	}
	return &Offer{Built: built, Request: one.request, Sequence: one.sequence}, nil
}

// Intake has the builder's orders.
func (b *Builder) Intake() *orders.Intake { return b.orders }

// bid builds one block that pays its proposer, and submits it to all relays. It returns what was
// bid.
func (b *Builder) bid(ctx context.Context, a Attributes, duty client.Duty, d Decision) (*uint256.Int, error) {
	built, err := b.block(ctx, a, duty, d)
	if err != nil {
		return nil, err
	}
	if b.bidsByNetwork(a.Slot) {
		return b.networkBid(ctx, a, duty, built, d)
	}
	one, err := b.sign(a, duty, built, built.PaidWei)
	if err != nil {
		return nil, err
	}
	one.cancellations = d.Cancellable
	b.tellMade(a.Slot, built)
	if d.TakeBack {
		b.Tell(devnet.Event{Actor: b.Name, Subject: devnet.BidCancelled, Slot: int(a.Slot)})
	}
	if b.Conduct.Replay {
		b.kept = append(b.kept, one)
	}
	if err := b.submit(ctx, one); err != nil {
		return nil, err
	}
	b.burst(ctx, a, duty, built)
	return built.PaidWei, nil
}

// tellMade reports a bid that is about to be sent, with what its block earns.
func (b *Builder) tellMade(slot phase0.Slot, built *chain.Built) {
	b.Tell(devnet.Event{
		Actor: b.Name, Subject: devnet.BidMade, Slot: int(slot), ValueWei: built.PaidWei.Dec(),
		Fact: devnet.MadeBid{
			BlockHash: built.Hash(), Builder: b.Key.PublicKey(), ValueWei: built.PaidWei, WorthWei: built.CoinbaseGainWei,
		},
	})
}

// block builds a block with as many orders as fit together, filled up with pending transactions. It
// pays the proposer what the decision says, unless the builder pays from its stake. An order that
// was cancelled since the last bid is not in it and adds nothing to its value.
func (b *Builder) block(ctx context.Context, a Attributes, duty client.Duty, d Decision) (*chain.Built, error) {
	var payment *chain.Payment // from its stake, if the builder bids by the network
	if !b.bidsByNetwork(a.Slot) {
		payment = &chain.Payment{From: b.Wallet, To: b.Conduct.payee(b.Wallet, duty)}
	}
	draft, err := b.Node.Draft(ctx, b.argsOf(a, duty, payment))
	if err != nil {
		return nil, err
	}
	draft, placed := b.orders.Merge(ctx, draft, nil)
	for _, tx := range choose(b.Node.Pending(), b.Seed, uint64(a.Slot), b.TxLimit) {
		_, _ = draft.Apply(ctx, tx) // transactions that cannot be applied or are in the block already are left out
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	valueWei := d.ValueWei(draft.GainWei())
	if d.AboveWei != nil && !valueWei.Gt(d.AboveWei) {
		return nil, ErrNotBetter
	}
	if payment != nil {
		payment.ValueWei = valueWei
	}
	b.Log.Debug("bid", "builder", b.Name, "slot", a.Slot, "orders", placed, "value_wei", valueWei)
	return draft.Finish(ctx)
}

func (b *Builder) argsOf(a Attributes, duty client.Duty, payment *chain.Payment) chain.BuildArgs {
	return chain.BuildArgs{
		Parent: a.ParentHash, Slot: a.Slot, PrevRandao: a.PrevRandao, Withdrawals: a.Withdrawals,
		ParentBeaconRoot: a.ParentRoot, Coinbase: crypto.PubkeyToAddress(b.Wallet.PublicKey),
		GasLimitTarget: duty.Registration.Message.GasLimit,
		ExtraData:      []byte(b.Name[:min(len(b.Name), int(params.MaximumExtraDataSize))]), Payment: payment,
	}
}

// payee returns the account that a block pays as its proposer's.
func (c Conduct) payee(own *ecdsa.PrivateKey, duty client.Duty) common.Address {
	if c.cheats(CheatPayment) {
		return crypto.PubkeyToAddress(own.PublicKey)
	}
	return common.Address(duty.Registration.Message.FeeRecipient)
}
