// Package builder is a block builder as the devnet's relay meets it: an outsider that learns of
// slots from a beacon node's events and of proposers from the relay, builds real blocks on its own
// execution node, and bids over HTTP.
//
//	orders, by JSON-RPC ────────────▶ intake.go ──────────────┐
//	beacon node ─payload_attributes─▶ work on (slot, parent) ─┼─ simulate orders, pay their refunds, merge the best (merge.go)
//	relay ─duties───────────────────▶ (duties.go)             ├─ fill up with pending transactions (choose.go)
//	relay ◀──────────signed submissions───────────────────────┴─ pay the proposer a rising share (bids.go), submit, until the slot is near
//
// A bid that was placed is never lowered, and is replaced only by a better one. An order that was
// cancelled is in no later bid.
package builder

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"log/slog"
	"net"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// Node is the builder's own execution node; *chain.Node is one.
type Node interface {
	// Draft begins a block on a parent; its transactions are applied one by one.
	Draft(ctx context.Context, args chain.BuildArgs) (*chain.Draft, error)
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
	// Signer tells who sent a transaction.
	Signer types.Signer
	// Orders is where orders come in, by JSON-RPC; nil for a builder that takes none. Run closes it.
	Orders net.Listener
	Spec   *eth.Spec
	Clock  clock.Clock
	// BeaconURL is where payload attributes come from; Relays are bid to, all alike. It is enough if
	// one of them takes a bid.
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
	intake intake
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

// Run takes orders and builds until the context ends, and returns nil then.
func (b *Builder) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if b.Orders != nil {
		group.Go(func() error { return b.serve(ctx, b.Orders) })
	}
	group.Go(func() error { return b.build(ctx) })
	return group.Wait()
}

// build bids in one auction after another. New attributes end the work on older ones; the same ones
// again, as after a stream that was opened anew, do not.
func (b *Builder) build(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	stop := func() {}
	defer func() { stop() }()
	var current Attributes
	return Follow(ctx, b.BeaconURL, b.Log.With("builder", b.Name), func(a Attributes) {
		if a.Same(current) {
			return
		}
		stop()
		current = a
		var work context.Context
		work, stop = context.WithCancel(ctx)
		working.Go(func() { b.work(work, a) })
	})
}

// work bids in one auction until the slot begins or newer attributes have come. A proposer that has
// not registered yet may still do so, and a relay may hear of the attributes a moment later than we
// do: until the slot begins it is worth trying again.
func (b *Builder) work(ctx context.Context, a Attributes) {
	started, start := b.Clock.Now(), b.Spec.SlotStart(a.Slot)
	last := new(uint256.Int)
	for i := 0; i < b.Bids; {
		if b.Clock.Until(ctx, bidTime(started, start, i, b.Bids)) != nil {
			return
		}
		value, err := b.tryBid(ctx, a, i, last)
		if err == nil {
			last = value
		}
		if err == nil || errors.Is(err, errNotBetter) {
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

func (b *Builder) tryBid(ctx context.Context, a Attributes, i int, last *uint256.Int) (*uint256.Int, error) {
	duty, err := b.duty(ctx, a.Slot)
	if err != nil {
		return nil, err
	}
	return b.bid(ctx, a, duty, i, last)
}
