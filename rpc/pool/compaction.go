package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// LongestLife is how many blocks ahead of the newest one the last block of an order may be.
const LongestLife = horizon

const (
	// headsNeeded is how many of the newest indexed blocks a start needs.
	headsNeeded = 64
	// followersNeeded is for how many blocks after their end orders are needed that followed
	// another one: which of them got which answers decides what the live ones may be told.
	followersNeeded = LongestLife
)

// Compaction selects from all facts those that a start needs: a pool, and package lifecycle around
// it, made from them equal those made from all facts, however long the service has run. Of ended
// orders it keeps the newest MaxOrders, for KeepFinal blocks and as long as their end can be taken
// back. Of simulations and deliveries it keeps those that decide about an order, but not all that
// its signer was shown.
//
// It is a projection of the facts, which must come in the order of the journal. It is not safe for
// concurrent use.
type Compaction struct {
	config Config
	count  uint64 // of all facts
	at     time.Time
	newest uint64 // the greatest number of a block that was counted

	orders map[uint64]*neededOrder
	// ended are the orders that ended, in the order of their ends. late are ended orders that are
	// needed for longer than others.
	ended, late []endedOrder
	cancels     []neededFact
	heads       []neededFact
}

// neededFact is a fact, and its place among all facts. text is not nil if a later version has
// written it, see rpc.LaterFact.
type neededFact struct {
	place uint64
	fact  rpc.Fact
	text  []byte
}

// neededOrder has the facts of one order.
type neededOrder struct {
	accepted neededFact
	// extended is the newest extension, succeeded the first successful simulation, delivered the
	// first delivery that a builder accepted, and simulated the newest simulation.
	extended, succeeded, delivered, simulated, shared *neededFact
	sent                                              []neededFact // the newest of each builder
	ends                                              []neededFact // ends and returns, alternating
	alive                                             bool
}

// NewCompaction begins without facts. It uses the Config's bounds of a pool's memory.
func NewCompaction(config Config) *Compaction {
	return &Compaction{config: config.withDefaults(), orders: make(map[uint64]*neededOrder)}
}

// Apply adds the next fact, which may be a rpc.LaterFact.
func (n *Compaction) Apply(fact rpc.Fact) {
	n.count++
	this := neededFact{place: n.count, fact: fact}
	if later, ok := fact.(rpc.LaterFact); ok {
		fact = later.Fact
		this.fact, this.text = later.Fact, later.Text
	}
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		if f.Order != nil && n.orders[f.Order.ID] == nil {
			n.orders[f.Order.ID] = &neededOrder{accepted: this, alive: true}
			n.advanceTime(f.At)
		}
	case rpc.OrderExtended:
		if o := n.living(f.ID); o != nil {
			o.extended = &this
		}
	case rpc.OrderSimulated:
		if o := n.living(f.ID); o != nil {
			o.simulated = &this
			if f.Success && o.succeeded == nil {
				o.succeeded = &this
			}
		}
	case rpc.OrderShared:
		if o := n.orders[f.ID]; o != nil && o.shared == nil {
			o.shared = &this
		}
	case rpc.OrderSent:
		if o := n.orders[f.ID]; o != nil {
			o.noteOffered(this, f.Delivery)
		}
	case rpc.OrderEnded:
		if o := n.living(f.ID); o != nil {
			n.end(o, this, f)
		}
	case rpc.OrderReturned:
		if o := n.orders[f.ID]; o != nil && !o.alive {
			o.alive, o.ends = true, append(o.ends, this)
		}
	case rpc.CancelNoted:
		n.cancels = append(n.cancels, this)
		if len(n.cancels) > 2*n.config.MaxOrders {
			n.thinCancels()
		}
		n.advanceTime(f.At)
	case rpc.BlockIndexed:
		n.heads = append(n.heads, this)
		n.heads = n.heads[max(0, len(n.heads)-headsNeeded):]
		n.newest = max(n.newest, f.Number)
		n.advanceTime(f.At)
		n.forget()
	case rpc.BlockReverted:
		n.leave(f.Head)
	}
}

func (n *Compaction) advanceTime(at time.Time) {
	if at.After(n.at) {
		n.at = at
	}
}

func (n *Compaction) living(id uint64) *neededOrder {
	if o := n.orders[id]; o != nil && o.alive {
		return o
	}
	return nil
}

// noteOffered keeps the newest delivery to each builder, and the first that was accepted.
func (o *neededOrder) noteOffered(this neededFact, d rpc.Delivery) {
	if d.Error == "" && o.delivered == nil {
		o.delivered = &this
	}
	o.sent = slices.DeleteFunc(o.sent, func(old neededFact) bool { return old.fact.(rpc.OrderSent).Builder == d.Builder })
	o.sent = append(o.sent, this)
}

func (n *Compaction) end(o *neededOrder, this neededFact, f rpc.OrderEnded) {
	o.alive, o.ends = false, append(o.ends, this)
	n.ended = append(n.ended, endedOrder{f.ID, f.Block})
	if len(n.ended) > n.config.MaxOrders {
		n.forgetOldest()
	}
	n.advanceTime(f.At)
}

// leave takes back the newest indexed block if it is this one, as package lifecycle does.
func (n *Compaction) leave(head rpc.Head) {
	if last := len(n.heads) - 1; last >= 0 && n.heads[last].fact.(rpc.BlockIndexed).Hash == head.Hash {
		n.heads = n.heads[:last]
	}
}

// forget removes what no start needs any more.
func (n *Compaction) forget() {
	for len(n.ended) > 0 && n.ended[0].block+n.config.KeepFinal+reorgDepth < n.newest {
		n.forgetOldest()
	}
	for len(n.late) > 0 && n.late[0].block+max(n.config.PrivateCancelBlocks, followersNeeded)+reorgDepth < n.newest {
		n.drop(n.late[0])
		n.late = n.late[1:]
	}
	for len(n.cancels) > 0 && n.isOver(n.cancels[0].fact.(rpc.CancelNoted)) {
		n.cancels = n.cancels[1:]
	}
}

// isOver says whether a cancel bars nothing any more, and no order that it has barred is kept.
func (n *Compaction) isOver(f rpc.CancelNoted) bool {
	// the last block at which a version that it has barred may end, and how long that version is
	// kept
	last := max(f.Barred, f.Block) + horizon + n.config.KeepFinal + reorgDepth
	return last < n.newest && !n.at.Before(f.At.Add(n.config.CancelMemory))
}

// thinCancels keeps the newest MaxOrders cancels, as a pool does. Of older cancels it keeps the
// newest one of each key that has a kept order.
func (n *Compaction) thinCancels() {
	kept := make(map[key]int) // index in old, or -1 while there is none
	for _, o := range n.orders {
		if order := o.accepted.fact.(rpc.OrderAccepted).Order; order.Replacement != uuid.Nil {
			kept[keyOf(order)] = -1
		}
	}
	cut := len(n.cancels) - n.config.MaxOrders
	var old []neededFact // newest first
	for _, cancel := range slices.Backward(n.cancels[:cut]) {
		f := cancel.fact.(rpc.CancelNoted)
		k := key{f.Signer, f.Replacement}
		switch at, has := kept[k]; {
		case has && at < 0:
			kept[k] = len(old)
			old = append(old, cancel)
		case has: // the newer cancel bars at least what the older ones barred
			newer := old[at].fact.(rpc.CancelNoted)
			if f.Barred > newer.Barred {
				newer.Barred = f.Barred
				old[at].fact, old[at].text = newer, nil
			}
		}
	}
	slices.Reverse(old)
	n.cancels = append(old, n.cancels[cut:]...)
}

// forgetOldest forgets the order that ended first, or moves it to those that are needed for longer:
// orders that followed another one, and private transactions that their signer cancelled, which may
// not come again.
func (n *Compaction) forgetOldest() {
	oldest := n.ended[0]
	n.ended = n.ended[1:]
	o := n.orders[oldest.id]
	if o == nil || o.alive || o.lastEnd().Block != oldest.block {
		return // a reorganisation has made it live again
	}
	order := o.accepted.fact.(rpc.OrderAccepted).Order
	if order.Follows == 0 && (order.Kind != rpc.KindPrivate || o.lastEnd().State != rpc.Cancelled) {
		delete(n.orders, oldest.id)
		return
	}
	n.late = append(n.late, oldest)
	if len(n.late) > n.config.MaxOrders {
		n.drop(n.late[0])
		n.late = n.late[1:]
	}
}

func (n *Compaction) drop(oldest endedOrder) {
	if o := n.orders[oldest.id]; o != nil && !o.alive && o.lastEnd().Block == oldest.block {
		delete(n.orders, oldest.id)
	}
}

// lastEnd is the end of an order that is not alive.
func (o *neededOrder) lastEnd() rpc.OrderEnded { return o.ends[len(o.ends)-1].fact.(rpc.OrderEnded) }

// Facts are the facts that are needed now, in their order; those of a later version as they came.
func (n *Compaction) Facts() []rpc.Fact {
	all := append(slices.Clone(n.cancels), n.heads...)
	for _, o := range n.orders {
		all = append(all, o.accepted)
		for _, one := range []*neededFact{o.extended, o.succeeded, o.delivered, o.simulated, o.shared} {
			if one != nil {
				all = append(all, *one)
			}
		}
		all = append(append(all, o.sent...), o.ends...)
	}
	slices.SortFunc(all, func(a, b neededFact) int { return cmp.Compare(a.place, b.place) })
	// One fact may be both the first and the newest.
	all = slices.CompactFunc(all, func(a, b neededFact) bool { return a.place == b.place })
	facts := make([]rpc.Fact, len(all))
	for i, one := range all {
		if facts[i] = one.fact; one.text != nil {
			facts[i] = rpc.LaterFact{Fact: one.fact, Text: one.text}
		}
	}
	return facts
}
