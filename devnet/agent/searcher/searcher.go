// Package searcher is a searcher as the bundle RPC and the event stream meet it: an outsider that
// hears hints, and follows a swap in one pool with a transaction that closes the gap to the other.
//
//	stream ──hint──▶ opportunity.go: a pool has moved, as far as the hint says
//	                      └──▶ backrun.go: sign ──mev_sendBundle [{hash}, {tx}]──▶ bundle RPC
//	bundle RPC ◀──gavel_getOrderStatus, refunds by bundle── outcome.go: what became of it
package searcher

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/stream/client"
)

// Hints is the event stream; *client.Client is one.
type Hints interface {
	// Events listens until the context ends or the caller breaks off. An event that cannot be read
	// comes with an error, and the next ones follow; when there is no use in going on, the last pair
	// has no event but the error.
	Events(ctx context.Context) iter.Seq2[client.Event, error]
}

// Config says who the searcher is.
type Config struct {
	Name string
	// Wallets pay for backruns. A wallet has one nonce for each block, so of the backruns of one
	// wallet only one lands in a block.
	Wallets []*ecdsa.PrivateKey
	ChainID uint64
	// Node is the execution node's JSON-RPC, OrderFlow the bundle RPC, which wants signed requests.
	Node, OrderFlow *rpc.Client
	Hints           Hints
	Spec            *eth.Spec
	Clock           clock.Clock
	Log             *slog.Logger
}

// Searcher is a running searcher.
type Searcher struct {
	Config

	signer types.Signer
	hints  chan client.Event
	turn   int // the wallet whose turn it is; for the goroutine that follows hints
	sent   outcomes
}

// waitingHints is how many hints wait while others are looked at. Older ones are not worth much:
// what does not fit is left out.
const waitingHints = 64

// New returns a searcher that does nothing until Run.
func New(cfg Config) *Searcher {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Searcher{
		Config: cfg, signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)), hints: make(chan client.Event,
			waitingHints),
	}
}

// Run listens and follows until the context ends, and returns nil then.
func (s *Searcher) Run(ctx context.Context) error {
	if len(s.Wallets) == 0 {
		return errors.New("a searcher needs a wallet")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.listen(ctx) })
	group.Go(func() error { return s.followHints(ctx) })
	group.Go(func() error { return s.followOutcomes(ctx) })
	return group.Wait()
}

// listen hears hints until the context ends. A stream that has nothing more to say is an error.
func (s *Searcher) listen(ctx context.Context) error {
	for event, err := range s.Hints.Events(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && event.Raw == nil:
			return fmt.Errorf("searcher %s: listen to hints: %w", s.Name, err)
		case err != nil:
			s.Log.Warn("a hint cannot be read", "searcher", s.Name, "error", err)
		default:
			s.hear(event)
		}
	}
	return nil
}

// hear never holds up the stream.
func (s *Searcher) hear(hint client.Event) {
	select {
	case s.hints <- hint:
	default:
		s.Log.Warn("a hint is left out", "searcher", s.Name, "hash", hint.Hash)
	}
}

func (s *Searcher) followHints(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case hint := <-s.hints:
			err := s.follow(ctx, hint)
			var refused rpc.Error
			switch {
			case err == nil || ctx.Err() != nil:
			case errors.As(err, &refused): // the order may have landed meanwhile, or was taken back
				s.Log.Debug("a backrun is refused", "searcher", s.Name, "hash", hint.Hash, "error", err)
			default:
				s.Log.Warn("follow a hint", "searcher", s.Name, "hash", hint.Hash, "error", err)
			}
		}
	}
}
