// Package builder is a block builder as a relay meets it: an outsider that learns of slots from a
// beacon node's events and of proposers from the relays, builds real blocks on its own execution
// node, and bids over HTTP. What it bids and when is a Strategy, which is pure; whether it plays
// fair is its Conduct.
//
//	orders, by JSON-RPC ────────────▶ devnet/agent/orders ─┐
//	beacon node ─payload_attributes─▶ auction (auction.go) ─┼─ decide (strategy.go, pure): wait, bid so much, take back, stop
//	relays ─duties, leading bids────▶ (top.go)              ├─ merge the best orders, with their refunds
//	                                                        ├─ fill up with pending transactions (choose.go), pay the proposer
//	relays ◀──────────signed submissions────────────────────┴─ cheat, if that is its conduct (cheat.go), sign, submit
//
// An order that was cancelled is in no later bid.
package builder

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/orders"
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

// Relay is where bids go.
type Relay struct {
	Name string
	*client.Client
	// TopBids is the way to its leading bids; nil does not listen to them.
	TopBids *client.Client
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
	Relays    []Relay
	// Strategy is what it bids and when: Usual of its seed.
	Strategy Strategy
	Conduct  Conduct
	// TxLimit bounds the transactions of a block, besides the payment: 1,000.
	TxLimit int
	// Seed makes this builder choose other transactions than others do; 0 takes what comes.
	Seed uint64
	// Tell is told what relays answer and what leads; nil tells nobody. Calls may overlap.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// Builder is a running builder.
type Builder struct {
	Config

	orders *orders.Intake
	top    top
	// kept are the submissions of the last auction, for one who sends them again. Only the auction
	// that runs uses it, and there is one at a time.
	kept []submission
}

// New returns a builder that does nothing until Run.
func New(cfg Config) *Builder {
	if cfg.Strategy == nil {
		cfg.Strategy = Usual{Seed: cfg.Seed}
	}
	if cfg.TxLimit == 0 {
		cfg.TxLimit = 1000
	}
	if cfg.Tell == nil {
		cfg.Tell = func(devnet.Event) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Builder{Config: cfg, orders: orders.New(cfg.Wallet, cfg.Signer)}
}

// Run takes orders and builds until the context ends, and returns nil then.
func (b *Builder) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if b.Orders != nil {
		group.Go(func() error { return b.serve(ctx, b.Orders) })
	}
	for _, relay := range b.Relays {
		if relay.TopBids != nil {
			group.Go(func() error { b.followTop(ctx, relay); return nil })
		}
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
		working.Wait() // one auction at a time
		current = a
		var work context.Context
		work, stop = context.WithCancel(ctx)
		working.Go(func() { b.auction(work, a) })
	})
}

// serve answers requests until the context ends.
func (b *Builder) serve(ctx context.Context, listener net.Listener) error {
	handler, err := b.orders.Handler()
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // that nobody is answered any more is meant
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve builder %s: %w", b.Name, err)
	}
	return nil
}
