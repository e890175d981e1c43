// Package searcher is a searcher: an outsider to the bundle RPC and the event stream. It listens to
// hints, and answers a swap in one pool with a transaction that closes the price gap to the other
// pool.
//
//	stream ──hint──▶ backrun.go: read the market ─▶ decide.go (pure): is it worth a backrun?
//	                      └──▶ sign ──mev_sendBundle [{hash}, {tx}]──▶ bundle RPC
//	bundle RPC ◀──gavel_getOrderStatus, refunds by bundle── outcome.go: did it land?
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

// Hints is the event stream; *client.Client implements it.
type Hints interface {
	// Events listens until the context ends or the caller stops iterating. An event that cannot be
	// read comes with an error, and later events follow. If the stream has ended for good, the last
	// pair has an error and no event.
	Events(ctx context.Context) iter.Seq2[client.Event, error]
}

// Config says who the searcher is.
type Config struct {
	Name string
	// Wallets pay for backruns. All backruns of a wallet for one block have the same nonce, so only
	// one of them can land.
	Wallets []*ecdsa.PrivateKey
	ChainID uint64
	// Node is the execution node's JSON-RPC. OrderFlow is the bundle RPC; its client must sign
	// requests.
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
	turn   int // the next wallet; used only by the goroutine that follows hints
	sent   outcomes
}

// waitingHints is how many hints may wait. If there are more, new ones are dropped: a hint that
// waited for long is not worth much.
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

// Run listens and sends backruns until the context ends, and then returns nil.
func (s *Searcher) Run(ctx context.Context) error {
	if len(s.Wallets) == 0 {
		return errors.New("a searcher needs a wallet")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return listenTo(ctx, s.Hints, s.Name, s.Log, s.hear) })
	group.Go(func() error { return s.followHints(ctx) })
	group.Go(func() error { return s.followOutcomes(ctx) })
	return group.Wait()
}

// listenTo hands hints to hear until the context ends, and then returns nil. It leaves out hints
// that cannot be read, and returns an error if the stream ends for good.
func listenTo(ctx context.Context, hints Hints, name string, log *slog.Logger, hear func(client.Event)) error {
	for hint, err := range hints.Events(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && hint.Raw == nil:
			return fmt.Errorf("searcher %s: listen to hints: %w", name, err)
		case err != nil:
			log.Warn("a hint cannot be read", "searcher", name, "error", err)
		default:
			hear(hint)
		}
	}
	return nil
}

// hear queues a hint, or drops it if the queue is full: it never delays the stream.
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
			case errors.As(err, &refused): // the target may have landed meanwhile, or was cancelled
				s.Log.Debug("a backrun is refused", "searcher", s.Name, "hash", hint.Hash, "error", err)
			default:
				s.Log.Warn("follow a hint", "searcher", s.Name, "hash", hint.Hash, "error", err)
			}
		}
	}
}
