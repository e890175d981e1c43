// Package builder is a block builder as the devnet's relay meets it: an outsider that learns of slots from a beacon node's events and of
// proposers from the relay, builds real blocks on its own execution node, and bids over HTTP.
//
//	beacon node ─payload_attributes─▶ work on (slot, parent) ─┬─ choose transactions (choose.go)
//	relay ─duties───────────────────▶ (duties.go)             ├─ build, pay the proposer a rising share (bids.go)
//	relay ◀──────────signed submissions───────────────────────┴─ sign, submit (submit.go), again until the slot is near
package builder

import (
	"context"
	"crypto/ecdsa"
	"log/slog"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// Node is the builder's own execution node; *chain.Node is one.
type Node interface {
	// Build executes the given transactions on a parent and returns the block.
	Build(ctx context.Context, args chain.BuildArgs) (*chain.Built, error)
	// Pending are the pool's transactions, best first.
	Pending() []*types.Transaction
}

// Config says who the builder is and what it does.
type Config struct {
	// Name is written into the blocks' extra data, as far as it fits there.
	Name string
	// Key signs bids; Wallet is the coinbase and pays proposers.
	Key    *bls.SecretKey
	Wallet *ecdsa.PrivateKey
	Node   Node
	Spec   *eth.Spec
	Clock  clock.Clock
	// BeaconURL is where payload attributes come from; Relays are bid to, all alike. It is enough if one of them takes a bid.
	BeaconURL string
	Relays    []*client.Client
	// Bids is how many rising bids there are a slot: 3.
	Bids int
	// TxLimit bounds the transactions of a block, besides the payment: 1,000.
	TxLimit int
	// Seed makes this builder choose differently from others.
	Seed uint64
	Log  *slog.Logger
}

// Builder is a running builder.
type Builder struct {
	Config

	duties duties
}

// New returns a builder that does nothing until Run.
func New(cfg Config) *Builder {
	if cfg.Bids == 0 {
		cfg.Bids = 3
	}
	if cfg.TxLimit == 0 {
		cfg.TxLimit = 1000
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Builder{Config: cfg}
}

// Run builds until the context ends, and returns nil then. New attributes end the work on older ones; the same ones again, as after a
// stream that was opened anew, do not.
func (b *Builder) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	stop := func() {}
	defer func() { stop() }()
	var current attributes
	return b.follow(ctx, func(a attributes) {
		if a.same(current) {
			return
		}
		stop()
		current = a
		var work context.Context
		work, stop = context.WithCancel(ctx)
		working.Go(func() { b.work(work, a) })
	})
}

// work bids in one auction until the slot begins or newer attributes have come. A proposer that has not registered yet may still do so, and
// a relay may hear of the attributes a moment later than we do: until the slot begins it is worth trying again.
func (b *Builder) work(ctx context.Context, a attributes) {
	started, start := b.Clock.Now(), b.Spec.SlotStart(a.Slot)
	last := new(uint256.Int)
	for i := 0; i < b.Bids; {
		if b.Clock.Until(ctx, bidTime(started, start, i, b.Bids)) != nil {
			return
		}
		value, err := b.tryBid(ctx, a, i, last)
		if err == nil {
			last = value
			i++
			continue
		}
		if ctx.Err() != nil {
			return
		}
		retry := b.Clock.Now().Add(b.Spec.SlotDuration / retries)
		if retry.After(start) {
			b.Log.Warn("bid failed", "builder", b.Name, "slot", a.Slot, "bid", i, "error", err)
			return
		}
		if b.Clock.Until(ctx, retry) != nil {
			return
		}
	}
}

// retries is how often a slot a bid that failed could be tried again.
const retries = 50

func (b *Builder) tryBid(ctx context.Context, a attributes, i int, last *uint256.Int) (*uint256.Int, error) {
	duty, err := b.duty(ctx, a.Slot)
	if err != nil {
		return nil, err
	}
	return b.bid(ctx, a, duty, i, last)
}

// bid builds one block, pays its proposer and submits it everywhere.
func (b *Builder) bid(ctx context.Context, a attributes, duty client.Duty, i int, last *uint256.Int) (*uint256.Int, error) {
	message := duty.Registration.Message
	built, err := b.Node.Build(ctx, chain.BuildArgs{
		Parent: a.ParentHash, Slot: a.Slot, PrevRandao: a.PrevRandao, Withdrawals: a.Withdrawals, ParentBeaconRoot: a.ParentRoot,
		Coinbase: crypto.PubkeyToAddress(b.Wallet.PublicKey), GasLimitTarget: message.GasLimit,
		ExtraData:    []byte(b.Name[:min(len(b.Name), int(params.MaximumExtraDataSize))]),
		Transactions: choose(b.Node.Pending(), b.Seed, uint64(a.Slot), b.TxLimit),
		Payment: &chain.Payment{
			From: b.Wallet, To: common.Address(message.FeeRecipient),
			Share: func(gain *uint256.Int) *uint256.Int { return share(gain, last, b.Seed, uint64(a.Slot), i, b.Bids) },
		},
	})
	if err != nil {
		return nil, err
	}
	request, err := b.sign(a, duty, built)
	if err != nil {
		return nil, err
	}
	return built.PaidWei, b.submit(ctx, request)
}
