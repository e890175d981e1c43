// Package builder is a block builder. It is an outsider to relays: it learns of slots from a beacon
// node's events and of proposers from the relays, builds real blocks on its own execution node, and
// bids over HTTP. A Strategy, which is pure, decides what it bids and when. Its Conduct says which
// rules it breaks.
//
//	orders, by JSON-RPC ────────────▶ devnet/agent/orders ─┐
//	beacon node ─payload_attributes─▶ auction (auction.go) ─┼─ decide (strategy.go, pure): wait, bid so much, take back, stop
//	relays ─duties, leading bids────▶ (top.go)              ├─ merge the best orders, with their refunds
//	                                                        ├─ fill up with pending transactions (choose.go), pay the proposer
//	relays ◀──────────signed submissions────────────────────┴─ cheat, if that is its conduct (cheat.go), sign, submit
//
// A builder with stake bids by the network in slots of gloas (networkbid.go), and keeps its
// promises itself (reveal.go):
//
//	beacon node ──proposer_preferences────────▶ (preferences.go)
//	            ◀─bid that its key has signed── block without a payment
//	            ──block with its bid─────────▶ decide (reveal.go, pure): wait, reveal, withhold ─envelope─▶ beacon node
//
// Later bids do not contain an order that was cancelled.
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
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/orders"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay/client"
)

// Node is the builder's own execution node; *chain.Node implements it.
type Node interface {
	// Draft begins a block on a parent; its transactions are applied one by one.
	Draft(ctx context.Context, args chain.BuildArgs) (*chain.Draft, error)
	// Pending returns the pool's transactions, best first.
	Pending() []*types.Transaction
}

// Relay is a relay to which the builder bids.
type Relay struct {
	Name string
	*client.Client
	// TopBids is the client with which the builder reads the relay's leading bids; nil if it does
	// not read them.
	TopBids *client.Client
}

// Config says who the builder is and what it does.
type Config struct {
	// Name is written into the blocks' extra data; what does not fit is cut off.
	Name string
	// Key signs bids. Wallet is the coinbase, and pays proposers.
	Key    *bls.SecretKey
	Wallet *ecdsa.PrivateKey
	Node   Node
	// Signer recovers the senders of transactions.
	Signer types.Signer
	// Orders is where orders come in by JSON-RPC; nil for a builder that takes none. Run closes it.
	Orders net.Listener
	Spec   *eth.Spec
	Clock  clock.Clock
	// BeaconURL is the beacon node that announces payload attributes. The builder submits each bid
	// to all Relays; it is enough if one accepts it.
	BeaconURL string
	Relays    []Relay
	// Stake is the index under which the builder bids by the network, from gloas on, in the place of
	// bidding to Relays; nil for a builder without stake.
	Stake *gloas.BuilderIndex
	// Exit asks the chain to let the builder go, by the public pool; nil if it has no stake.
	Exit func(ctx context.Context) error
	// Strategy decides what it bids and when. nil means Usual, with Seed.
	Strategy Strategy
	Conduct  Conduct
	// TxLimit bounds the pending transactions in a block. 0 means 1,000.
	TxLimit int
	// Numbered sends X-Sequence with each submission.
	Numbered bool
	// Seed makes this builder choose other pending transactions than other builders do.
	Seed uint64
	// Tell receives what relays answer and which bids lead. It must be safe for concurrent use; it
	// may be nil.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// Builder is a running builder.
type Builder struct {
	Config

	orders *orders.Intake
	top    top
	// lines are the ways to the relays, in their order. sending has the submissions on their way.
	lines    []line
	sending  sync.WaitGroup
	sequence atomic.Uint64
	// kept are the submissions of the last auction, for a conduct that replays them. Only the
	// running auction uses it, and there is one at a time.
	kept []submission
	// promised are the bids of the network that may have to be kept. asked says that the builder has
	// asked to leave; only the running auction uses it.
	promised chan promise
	asked    bool
	// preferred is what proposers have told the network, for a builder with stake.
	preferred preferences
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
	b := &Builder{
		Config: cfg, orders: orders.New(cfg.Wallet, cfg.Signer), promised: make(chan promise, promisesAhead),
	}
	for range cfg.Relays {
		b.lines = append(b.lines, line{busy: make(chan struct{}, 1)})
	}
	return b
}

// Run takes orders and builds until the context ends, and then returns nil.
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
	if b.Stake != nil {
		group.Go(func() error { b.keepPromises(ctx); return nil })
		group.Go(func() error {
			FollowTopic(ctx, b.BeaconURL, "proposer_preferences", b.Log.With("builder", b.Name), b.preferred.add)
			return nil
		})
	}
	group.Go(func() error { return b.build(ctx) })
	return group.Wait()
}

// build bids in one auction after another. New attributes end the auction before. The same
// attributes may come again after a stream was opened again; they change nothing.
func (b *Builder) build(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	stop := func() {}
	defer func() { stop() }()
	var current Attributes
	return Follow(ctx, b.BeaconURL, b.Log.With("builder", b.Name), func(a Attributes) {
		if a.Same(current) || !b.Conduct.follows(current, a) {
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
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // open requests are cut off on purpose
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve builder %s: %w", b.Name, err)
	}
	return nil
}
