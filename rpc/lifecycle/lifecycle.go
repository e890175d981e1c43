// Package lifecycle keeps orders moving: it accepts and cancels them, and at each block of the
// chain it finds out which ended, simulates those that the next block may include, and sends them
// to builders. Package pool decides what becomes of an order; this package decides when.
//
//	Submit ─▶ match ─▶ pool ─▶ facts
//	Cancel ────────────▶│ new, or ready for the next block
//	                    ▼
//	             simQueue ─▶ workers: simulate on the head ─▶ pool ─▶ shared, once ─▶ send to builders ─▶ pool
//	                    ▲
//	chain ─▶ Block: landed, expired, what is ready now; then Index: what was paid
//
// The files in the order of an order's life: submit.go, queue.go, simulate.go (ownpart.go,
// share.go, recipients.go), block.go. Besides: cancel.go, probe.go and status.go, and disclosure.go
// for what the signers of following orders may learn.
package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// Sender sends orders to builders. It does not wait for them.
type Sender interface {
	// Send offers an order for a block. delivered is called with each delivery when it has ended,
	// perhaps at once, from another goroutine.
	Send(order *rpc.Order, block uint64, delivered func(rpc.Delivery))
	// Cancel asks the builders to forget an order.
	Cancel(order *rpc.Order, builders []string)
}

// Indexer finds out what a block paid for orders.
type Indexer interface {
	// Index records the effects of a block, and returns what each order paid, by its id.
	Index(ctx context.Context, at time.Time, block *types.Block, landed []*rpc.Order) (valueWei map[uint64]*uint256.Int,
		err error)
	// Revert takes back the effects of a block that is not part of the chain any more.
	Revert(at time.Time, block rpc.Head)
}

// Recipients says where refunds go.
type Recipients interface {
	// Recipient is the address that gets the refunds of an owner: its own, unless it has set
	// another one. It must not call the lifecycle.
	Recipient(owner common.Address) common.Address
}

// Ranking says which signers' orders come first.
type Ranking interface {
	High(signer common.Address) bool
}

// Config has what the lifecycle works with.
type Config struct {
	Pool      *pool.Pool // used by the lifecycle alone from now on
	Chain     exec.Chain
	Simulator exec.Simulator
	Sender    Sender
	Indexer   Indexer
	Ranking   Ranking
	// Recipients may be nil: refunds go to their owners.
	Recipients Recipients
	Facts      rpc.DurableFacts
	Clock      clock.Clock
	Log        *slog.Logger
	// Senders finds the senders of transactions.
	Senders bundle.Senders
	// BlockTime is how long after a block the next one is expected.
	BlockTime time.Duration
	// SendUnpaid also sends private transactions to builders that pay nothing to the fee recipient.
	SendUnpaid bool
	// Workers is how many orders are simulated at a time; 0 is one for each processor.
	Workers int
}

// Lifecycle accepts, simulates, sends and ends orders. It is safe for concurrent use.
type Lifecycle struct {
	Config
	queue *simQueue

	// guards the pool and what follows; facts are recorded with it held, so that they have the pool's
	// order
	mu    sync.Mutex
	head  rpc.Head
	heads []rpc.Head // the newest ones, for reorganisations; the last one is head
	// unacked are orders that the journal has not acked yet, by their ids. They are neither
	// simulated nor sent.
	unacked map[uint64]func() error
	// unackedCancels are ends of cancelled orders that the journal did not ack in time, by their
	// signers.
	unackedCancels map[common.Address][]rpc.Fact
	// cancelling are the newest cancels that wait for the journal, by their signers.
	cancelling map[common.Address]*cancelling
	// superseded are the builders that have an older version of an order, by the order's id, while
	// it is live.
	superseded map[uint64][]string
	disclosure disclosure
}

const (
	// headsKept is how many blocks of a reorganisation can be taken back.
	headsKept = 64
	// maxMissed is how many blocks are read at most that came while the chain was not followed.
	maxMissed = 1024
)

// New makes a lifecycle, which uses the pool alone from now on.
func New(cfg Config) *Lifecycle {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return &Lifecycle{
		Config: cfg, queue: newSimQueue(cfg.Workers, cfg.Ranking.High), superseded: map[uint64][]string{},
		unacked: map[uint64]func() error{}, unackedCancels: map[common.Address][]rpc.Fact{},
		cancelling: map[common.Address]*cancelling{},
		disclosure: newDisclosure(cfg.Ranking.High),
	}
}

// Head is the newest block, zero before the first one.
func (l *Lifecycle) Head() rpc.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// record records facts. The caller holds mu.
func (l *Lifecycle) record(facts []rpc.Fact) {
	for _, fact := range facts {
		l.trackFact(fact)
		l.Facts.Record(fact)
	}
}

// keep records facts that a client is promised. kept must be called without mu. The caller holds
// mu.
func (l *Lifecycle) keep(facts []rpc.Fact) (kept func() error) {
	for _, fact := range facts {
		l.trackFact(fact)
	}
	return l.Facts.Keep(facts...)
}

// trackFact updates the lifecycle's own indexes with a fact of this run. The caller holds mu.
func (l *Lifecycle) trackFact(fact rpc.Fact) {
	l.disclosure.apply(fact, l.head.Number, l.Pool.Order)
	if end, ok := fact.(rpc.OrderEnded); ok {
		delete(l.superseded, end.ID)
	}
}

// Begin brings the lifecycle to the chain's head before anything else happens, since new orders are
// for the blocks after it. It processes the blocks that came after the newest one that Apply knows
// of.
func (l *Lifecycle) Begin(ctx context.Context) error {
	header, err := l.Chain.Head(ctx)
	if err != nil {
		return fmt.Errorf("ask for the newest block: %w", err)
	}
	if head := l.Head(); head != (rpc.Head{}) && head.Hash != header.Hash() {
		block, err := l.Chain.Block(ctx, header.Hash())
		if err != nil {
			return fmt.Errorf("read the newest block: %w", err)
		}
		return l.catchUp(ctx, block)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head == (rpc.Head{}) { // a new journal: whoever reads it begins behind this block
		l.setHead(headOf(header))
		l.record([]rpc.Fact{rpc.BlockIndexed{At: l.Clock.Now(), Head: l.head}})
	}
	l.record(l.Pool.Block(l.Clock.Now(), l.head, nil))
	l.queue.replace(l.readyOrders())
	return nil
}

func headOf(h *types.Header) rpc.Head {
	return rpc.Head{Number: h.Number.Uint64(), Hash: h.Hash(), Timestamp: h.Time}
}

// setHead adds a head. The caller holds mu.
func (l *Lifecycle) setHead(head rpc.Head) {
	l.head = head
	if l.heads = append(l.heads, head); len(l.heads) > headsKept {
		l.heads = l.heads[len(l.heads)-headsKept:]
	}
}

// readyOrders returns the orders that the block after the head may include and that the journal
// has. The caller holds mu.
func (l *Lifecycle) readyOrders() []*rpc.Order {
	orders := l.Pool.Ready(l.head.Number+1, l.nextTimestamp())
	if len(l.unacked) > 0 {
		orders = slices.DeleteFunc(orders, func(order *rpc.Order) bool { return l.unacked[order.ID] != nil })
	}
	return orders
}

// nextTimestamp is the expected timestamp of the block after the head. The caller holds mu.
func (l *Lifecycle) nextTimestamp() uint64 { return l.head.Timestamp + uint64(l.BlockTime/time.Second) }

// CountFrom makes the ids of new orders greater than a number. It must be called before the first
// order comes.
func (l *Lifecycle) CountFrom(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Pool.CountFrom(number)
}

// Apply applies a fact of an earlier run. Its heads are the blocks that were indexed: a block that
// was not indexed is processed again.
func (l *Lifecycle) Apply(fact rpc.Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Pool.Apply(fact)
	l.disclosure.apply(fact, l.head.Number, l.Pool.Order)
	switch f := fact.(type) {
	case rpc.BlockIndexed:
		l.setHead(f.Head)
	case rpc.BlockReverted:
		l.leaveHead(f.Head)
	}
}

// leaveHead removes the newest head if it is this one. The caller holds mu.
func (l *Lifecycle) leaveHead(head rpc.Head) {
	last := len(l.heads) - 1
	if last < 0 || l.heads[last].Hash != head.Hash {
		return
	}
	l.heads, l.head = l.heads[:last], rpc.Head{}
	if last > 0 {
		l.head = l.heads[last-1]
	}
}
