// Package desk keeps orders alive: it takes and cancels them, and at each block of the chain it
// finds out which ended, simulates those that could be in the next one, and hands them to builders.
// What becomes of an order is decided in pool; here is when.
//
//	Take ─▶ match ─▶ pool ─▶ facts
//	Cancel ──────────▶│ new, or ready for the next block
//	                  ▼
//	                line ─▶ workers: simulate on the head ─▶ pool ─▶ shared, once ─▶ send to builders ─▶ pool
//	                  ▲
//	chain ─▶ Block: landed, expired, what is ready now; then Settle: what was paid
package desk

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

// Sender hands orders to builders. It does not wait for them.
type Sender interface {
	// Send offers an order for a block; told is called with each delivery that ended, perhaps at once,
	// from another goroutine.
	Send(order *rpc.Order, block uint64, told func(rpc.Delivery))
	// Cancel asks those builders to forget an order.
	Cancel(order *rpc.Order, builders []string)
}

// Settler finds out what a block paid for orders.
type Settler interface {
	// Settle records what follows from a block, and tells by order what it paid.
	Settle(ctx context.Context, at time.Time, block *types.Block, landed []*rpc.Order) (valueWei map[uint64]*uint256.Int,
		err error)
	// Revert takes back what followed from a block that is not part of the chain any more.
	Revert(at time.Time, block rpc.Head)
}

// Recipients says where refunds go.
type Recipients interface {
	// Recipient is the address that gets the refunds of an owner: its own, unless it wants another
	// one. It must not call the desk.
	Recipient(owner common.Address) common.Address
}

// Ranking says whose orders come first.
type Ranking interface {
	High(signer common.Address) bool
}

// Config has the desk's rooms.
type Config struct {
	Pool      *pool.Pool // the desk's alone from now on
	Chain     exec.Chain
	Simulator exec.Simulator
	Sender    Sender
	Settler   Settler
	Ranking   Ranking
	// Recipients may be nil: refunds go to their owners.
	Recipients Recipients
	Facts      rpc.Keeper
	Clock      clock.Clock
	Log        *slog.Logger
	// Signer recovers senders of transactions, as the chain does; Senders remembers them, nil does
	// not.
	Signer  types.Signer
	Senders bundle.Senders
	// BlockTime is how long after a block the next one is expected.
	BlockTime time.Duration
	// SendUnpaid sends builders private transactions that pay the fee recipient nothing, too.
	SendUnpaid bool
	// Workers is how many orders are simulated at a time; one for each processor.
	Workers int
}

// Desk is safe for concurrent use.
type Desk struct {
	Config
	line *line

	mu    sync.Mutex // guards the pool and what follows; facts are recorded under it, so that they have the pool's order
	head  rpc.Head
	heads []rpc.Head // the newest ones, for reorganisations; the last one is head
	// unkept are orders that the journal has not acked yet, by their ids: nobody is sent them, and
	// nobody simulates them.
	unkept map[uint64]func() error
	// unsure are ends of cancelled orders, by their signers, that the journal did not ack in time.
	unsure map[common.Address][]rpc.Fact
	// superseded are builders that have an older version of an order, by its id, for as long as it
	// lives.
	superseded map[uint64][]string
	disclosure disclosure
}

const (
	// headsKept is how deep a reorganisation can be taken back.
	headsKept = 64
	// maxMissed is how many blocks are read that came while nobody followed the chain.
	maxMissed = 1024
)

// New takes over a pool.
func New(cfg Config) *Desk {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return &Desk{
		Config: cfg, line: newLine(cfg.Workers, cfg.Ranking.High), superseded: map[uint64][]string{},
		unkept: map[uint64]func() error{}, unsure: map[common.Address][]rpc.Fact{},
		disclosure: newDisclosure(cfg.Ranking.High),
	}
}

// Head is the newest block, zero before the first one was seen.
func (d *Desk) Head() rpc.Head {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.head
}

// record records facts. The caller holds mu.
func (d *Desk) record(facts []rpc.Fact) {
	for _, fact := range facts {
		d.happened(fact)
		d.Facts.Record(fact)
	}
}

// keep records facts that somebody is promised. kept is called without mu. The caller holds mu.
func (d *Desk) keep(facts []rpc.Fact) (kept func() error) {
	for _, fact := range facts {
		d.happened(fact)
	}
	return d.Facts.Keep(facts...)
}

// happened has the desk's own books follow a fact of this life. The caller holds mu.
func (d *Desk) happened(fact rpc.Fact) {
	d.disclosure.apply(fact, d.head.Number, d.Pool.Order)
	if end, ok := fact.(rpc.OrderEnded); ok {
		delete(d.superseded, end.ID)
	}
}

// Begin brings the desk up to the chain before anything else happens: orders that come are for the
// blocks after the newest one. Blocks that came since an earlier life, of which Apply has told, are
// made up for.
func (d *Desk) Begin(ctx context.Context) error {
	header, err := d.Chain.Head(ctx)
	if err != nil {
		return fmt.Errorf("ask for the newest block: %w", err)
	}
	if head := d.Head(); head != (rpc.Head{}) && head.Hash != header.Hash() {
		block, err := d.Chain.Block(ctx, header.Hash())
		if err != nil {
			return fmt.Errorf("read the newest block: %w", err)
		}
		return d.catchUp(ctx, block)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head == (rpc.Head{}) {
		d.setHead(headOf(header))
	}
	d.record(d.Pool.Block(d.Clock.Now(), d.head, nil))
	d.line.replace(d.ready())
	return nil
}

func headOf(h *types.Header) rpc.Head {
	return rpc.Head{Number: h.Number.Uint64(), Hash: h.Hash(), Timestamp: h.Time}
}

// setHead adds a head. The caller holds mu.
func (d *Desk) setHead(head rpc.Head) {
	d.head = head
	if d.heads = append(d.heads, head); len(d.heads) > headsKept {
		d.heads = d.heads[len(d.heads)-headsKept:]
	}
}

// ready are the orders that the block after the head may have and that the journal has. The caller
// holds mu.
func (d *Desk) ready() []*rpc.Order {
	orders := d.Pool.Ready(d.head.Number+1, d.nextTimestamp())
	if len(d.unkept) > 0 {
		orders = slices.DeleteFunc(orders, func(order *rpc.Order) bool { return d.unkept[order.ID] != nil })
	}
	return orders
}

// nextTimestamp is when the block after the head is expected. The caller holds mu.
func (d *Desk) nextTimestamp() uint64 { return d.head.Timestamp + uint64(d.BlockTime/time.Second) }

// CountFrom has the orders that come next numbered above a number. It is called before the first
// comes.
func (d *Desk) CountFrom(number uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Pool.CountFrom(number)
}

// Apply takes a fact of an earlier life. Its heads are the blocks that were settled: one that was
// not is taken again.
func (d *Desk) Apply(fact rpc.Fact) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Pool.Apply(fact)
	d.disclosure.apply(fact, d.head.Number, d.Pool.Order)
	switch f := fact.(type) {
	case rpc.BlockIndexed:
		d.setHead(f.Head)
	case rpc.BlockReverted:
		d.leaveHead(f.Head)
	}
}

// leaveHead takes back the newest head, if it is this one. The caller holds mu.
func (d *Desk) leaveHead(head rpc.Head) {
	last := len(d.heads) - 1
	if last < 0 || d.heads[last].Hash != head.Hash {
		return
	}
	d.heads, d.head = d.heads[:last], rpc.Head{}
	if last > 0 {
		d.head = d.heads[last-1]
	}
}
