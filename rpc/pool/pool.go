// Package pool is the life of orders: which are taken, which could be in a block, and how they end. It is pure: what time it is and what the chain
// did come as arguments, and what happened goes out as facts. Whoever owns a pool makes sure that one call runs at a time.
//
//	Add ──▶ submitted ──Simulated──▶ simulated ──Sent──▶ sent
//	            └───────────┬────────────┴────────────────┘
//	      Block: landed, expired, failed    Cancel, Add of a newer version: cancelled    Simulated (lasting): failed
//	            ▲
//	            └── Reverted: what ended by a block lives again when the chain has left it
//
// A call first decides, then applies its facts: that is the only way in which a pool changes, so that Apply, with the facts of an earlier life,
// makes the same pool again.
package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Config has the bounds of a pool. Zero values take the defaults that are named.
type Config struct {
	// MaxOrders may live at a time: 200,000; MaxPerSigner of one signer: all.
	MaxOrders, MaxPerSigner int
	// RememberCancels is how long a cancel keeps out what comes under its name: 60 s.
	RememberCancels time.Duration
	// KeepFinal is for how many blocks an order that has ended is remembered: 64.
	KeepFinal uint64
	// Revive lets a version that comes after a cancel count at once; else it counts for blocks after those that the cancelled one was for.
	Revive bool
}

// Pool holds orders. It is not safe for concurrent use.
type Pool struct {
	cfg    Config
	lastID uint64
	live   int
	orders map[uint64]*entry
	// byHash are all orders of a signer with a hash, live or not, oldest first.
	byHash map[title][]*entry
	// byTx are the live orders that need a transaction. Many may follow the same one.
	byTx map[common.Hash]map[*entry]struct{}
	// byName is the live order of a name.
	byName map[name]*entry
	// perSigner counts live orders.
	perSigner map[common.Address]int
	// lastBlocks are orders by their last block, ended those that have ended by the block of their end. An order stays in a list that it does not
	// belong to any more until the list goes as a whole.
	lastBlocks, ended map[uint64][]*entry
	cancels           map[name]cancelled
	ready             ranking
}

// name is what a signer calls a bundle.
type name struct {
	signer common.Address
	uuid   uuid.UUID
}

// title is a hash that a signer sent.
type title struct {
	signer common.Address
	hash   common.Hash
}

// cancelled says that a name was cancelled, and for which blocks.
type cancelled struct {
	at time.Time
	// block is the last one that it holds for.
	block uint64
}

// entry is an order and what became of it.
type entry struct {
	order *rpc.Order
	state rpc.State
	end   *rpc.OrderEnded // nil while it lives
	// value is what the newest simulation promised, as a measure for the ranking: more is more.
	value float64
	// simulations and deliveries are the newest ones, have the builders that took it.
	simulations []rpc.DatedSimulation
	deliveries  []rpc.DatedDelivery
	have        []string
}

// How much of an order's history is kept.
const (
	keptSimulations = 4
	keptDeliveries  = 8
)

// New returns an empty pool.
func New(cfg Config) *Pool {
	cfg.MaxOrders = cmp.Or(cfg.MaxOrders, 200_000)
	cfg.MaxPerSigner = cmp.Or(cfg.MaxPerSigner, cfg.MaxOrders)
	cfg.RememberCancels = cmp.Or(cfg.RememberCancels, time.Minute)
	cfg.KeepFinal = cmp.Or(cfg.KeepFinal, 64)
	return &Pool{
		cfg: cfg, orders: map[uint64]*entry{}, byHash: map[title][]*entry{}, byTx: map[common.Hash]map[*entry]struct{}{}, byName: map[name]*entry{},
		perSigner: map[common.Address]int{}, lastBlocks: map[uint64][]*entry{}, ended: map[uint64][]*entry{}, cancels: map[name]cancelled{},
	}
}

// Len is the number of live orders.
func (p *Pool) Len() int { return p.live }

// Live says whether an order lives.
func (p *Pool) Live(id uint64) bool {
	e := p.orders[id]
	return e != nil && e.end == nil
}

// Paid notes what a landed order paid. The fact of its end says it too.
func (p *Pool) Paid(id uint64, valueWei *uint256.Int) {
	if e := p.orders[id]; e != nil && e.end != nil {
		e.end.ValueWei = valueWei
	}
}

// SentTo are the builders that took an order.
func (p *Pool) SentTo(id uint64) []string {
	if e := p.orders[id]; e != nil {
		return slices.Clone(e.have)
	}
	return nil
}

// Apply takes a fact of an earlier life. Facts must come in their order.
func (p *Pool) Apply(fact rpc.Fact) {
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		p.insert(f.Order)
	case rpc.OrderSimulated:
		if e := p.orders[f.ID]; e != nil {
			e.simulated(f)
			p.rank(e)
		}
	case rpc.OrderSent:
		if e := p.orders[f.ID]; e != nil {
			e.sent(f)
		}
	case rpc.OrderEnded:
		if e := p.orders[f.ID]; e != nil && e.end == nil {
			p.finish(e, f)
		}
	case rpc.OrderReturned:
		if e := p.orders[f.ID]; e != nil && e.end != nil {
			p.revive(e)
		}
	case rpc.CancelNoted:
		p.cancels[name{f.Signer, f.Replacement}] = cancelled{f.At, f.Block}
	}
}

// applied applies facts and returns them.
func (p *Pool) applied(facts ...rpc.Fact) []rpc.Fact {
	for _, fact := range facts {
		p.Apply(fact)
	}
	return facts
}

func (p *Pool) insert(order *rpc.Order) {
	e := &entry{order: order, state: rpc.Submitted}
	p.lastID = max(p.lastID, order.ID)
	p.orders[order.ID] = e
	p.byHash[titleOf(order)] = append(p.byHash[titleOf(order)], e)
	p.enliven(e)
}

// enliven adds an order to what holds live ones only.
func (p *Pool) enliven(e *entry) {
	p.live++
	p.perSigner[e.order.Signer]++
	for _, hash := range required(e.order) {
		if p.byTx[hash] == nil {
			p.byTx[hash] = map[*entry]struct{}{}
		}
		p.byTx[hash][e] = struct{}{}
	}
	if n := nameOf(e.order); n.uuid != uuid.Nil {
		p.byName[n] = e
	}
	last := e.order.Bundle.Window.LastBlock
	p.lastBlocks[last] = append(p.lastBlocks[last], e)
	p.rank(e)
}

// finish ends a live order.
func (p *Pool) finish(e *entry, end rpc.OrderEnded) {
	p.live--
	if p.perSigner[e.order.Signer]--; p.perSigner[e.order.Signer] == 0 {
		delete(p.perSigner, e.order.Signer)
	}
	for _, hash := range required(e.order) {
		if delete(p.byTx[hash], e); len(p.byTx[hash]) == 0 {
			delete(p.byTx, hash)
		}
	}
	if n := nameOf(e.order); p.byName[n] == e {
		delete(p.byName, n)
	}
	e.state, e.end = end.State, &end
	p.ended[end.Block] = append(p.ended[end.Block], e)
}

// revive has an order live again that had ended.
func (p *Pool) revive(e *entry) {
	e.state, e.end = rpc.Submitted, nil
	if len(e.have) > 0 {
		e.state = rpc.Sent
	}
	p.enliven(e)
}

// forget drops what has ended long before a block.
func (p *Pool) forget(block uint64) {
	for number, list := range p.ended {
		if number+p.cfg.KeepFinal >= block {
			continue
		}
		for _, e := range list {
			if e.end != nil && e.end.Block == number {
				p.remove(e)
			}
		}
		delete(p.ended, number)
	}
}

// remove drops an order that has ended.
func (p *Pool) remove(e *entry) {
	delete(p.orders, e.order.ID)
	t := titleOf(e.order)
	if p.byHash[t] = slices.DeleteFunc(p.byHash[t], func(other *entry) bool { return other == e }); len(p.byHash[t]) == 0 {
		delete(p.byHash, t)
	}
}

// required are the transactions that must be in a block for an order to have landed: those that may not be dropped, or all, if all may.
func required(order *rpc.Order) []common.Hash {
	var needed, all []common.Hash
	for tx := range order.Bundle.Transactions() {
		all = append(all, tx.Hash)
		if !tx.CanDrop {
			needed = append(needed, tx.Hash)
		}
	}
	if needed == nil {
		return all
	}
	return needed
}

func titleOf(order *rpc.Order) title { return title{order.Signer, order.Hash()} }

func nameOf(order *rpc.Order) name { return name{order.Signer, order.Replacement} }
