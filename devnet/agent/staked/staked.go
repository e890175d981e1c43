// Package staked is a builder with stake of its own: from gloas on it signs its bids itself, and
// sends them to relays that take such, with the payload. It is an outsider to relays, as other
// builders are.
//
//	beacon node ─payload_attributes─▶ build ─▶ sign the bid ─▶ relay
//	beacon node ─block──────────────▶ sign the envelope of the payload for that block ─▶ relay
//
// The lab's beacon node does not hand out blocks of gloas. So the builder signs for each block of a
// slot that it has bid in. A relay uses only the signature for the block that has the bid.
package staked

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay/client"
)

// Node is the builder's own execution node; *chain.Node implements it.
type Node interface {
	Build(ctx context.Context, args chain.BuildArgs) (*chain.Built, error)
	// Pending returns the pool's transactions, best first.
	Pending() []*types.Transaction
}

// Config says who the builder is. All fields are needed.
type Config struct {
	Name string
	// Index and Key are those of the staked builder. Wallet is the coinbase, and pays proposers.
	Index  gloas.BuilderIndex
	Key    *bls.SecretKey
	Wallet *ecdsa.PrivateKey
	Node   Node
	Spec   *eth.Spec
	// BeaconURL is the beacon node whose events the builder follows.
	BeaconURL string
	Relays    []*client.Client
	// Value is what it bids from its stake.
	Value phase0.Gwei
	Log   *slog.Logger
}

// Builder is a running builder.
type Builder struct {
	Config

	mu  sync.Mutex // guards what follows
	bid *sent
}

// sent is the last bid that a relay has taken.
type sent struct {
	message     *gloas.ExecutionPayloadBid
	payloadRoot phase0.Root
}

// New returns a builder that does nothing until Run.
func New(cfg Config) *Builder { return &Builder{Config: cfg} }

// Run bids, and signs envelopes, until the context ends, and then returns nil.
func (b *Builder) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { b.followBlocks(ctx) })
	return builder.Follow(ctx, b.BeaconURL, b.Log, func(a builder.Attributes) {
		if b.Spec.ForkAt(a.Slot).HasBlindedBlocks() {
			return
		}
		if err := b.bidOn(ctx, a); err != nil && ctx.Err() == nil {
			b.Log.Debug("no bid", "slot", a.Slot, "error", err)
		}
	})
}

var errNoDuty = errors.New("no relay knows what the proposer wants")

// bidOn builds one block on a parent, and bids for it.
func (b *Builder) bidOn(ctx context.Context, a builder.Attributes) error {
	duty, err := b.duty(ctx, a.Slot)
	if err != nil {
		return err
	}
	wants := duty.Registration.Message
	built, err := b.Node.Build(ctx, chain.BuildArgs{
		Parent: a.ParentHash, Slot: a.Slot, PrevRandao: a.PrevRandao, Withdrawals: a.Withdrawals,
		ParentBeaconRoot: a.ParentRoot, Coinbase: crypto.PubkeyToAddress(b.Wallet.PublicKey),
		GasLimitTarget: wants.GasLimit, ExtraData: []byte(b.Name), Transactions: b.Node.Pending(),
		Payment: &chain.Payment{From: b.Wallet, To: common.Address(wants.FeeRecipient)},
	})
	if err != nil {
		return err
	}
	payment, _ := eth.WholeGwei(built.PaidWei) // the lab has less than 2^64 Gwei
	by := builder.Signer{Spec: b.Spec, Index: b.Index, Key: b.Key}
	bid, contents, err := by.Bid(a, wants.FeeRecipient, built, b.Value, payment)
	if err != nil {
		return err
	}
	root, err := gloas.Mainnet.ExecutionPayload.Root(contents.ExecutionPayload)
	if err != nil {
		return fmt.Errorf("hash payload: %w", err)
	}
	signed := &gloas.SignedBuilderBid{Bid: bid, Contents: []*gloas.BidContents{contents}}
	b.mu.Lock()
	b.bid = &sent{bid.Message, root}
	b.mu.Unlock()
	var errs []error
	for _, relay := range b.Relays {
		errs = append(errs, relay.SubmitBid(ctx, signed))
	}
	return errors.Join(errs...)
}

// duty asks relays what the proposer of a slot wants.
func (b *Builder) duty(ctx context.Context, slot phase0.Slot) (client.Duty, error) {
	errs := []error{errNoDuty}
	for _, relay := range b.Relays {
		list, err := relay.Duties(ctx)
		errs = append(errs, err)
		for _, duty := range list {
			if duty.Slot == slot {
				return duty, nil
			}
		}
	}
	return client.Duty{}, errors.Join(errs...)
}
