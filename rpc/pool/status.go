package pool

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Status is all that is known of an order, for its signer.
type Status struct {
	Order *rpc.Order
	State rpc.State
	// FirstBlock is the first block that the order counts for: its window's first, or a later one
	// if a cancel came before it.
	FirstBlock uint64
	// Simulations are the newest ones, oldest first. Deliveries are the newest ones of each
	// builder, in the order in which they ended.
	Simulations []rpc.DatedSimulation
	Deliveries  []rpc.DatedDelivery
	// End says how it ended, nil while it is alive.
	End *End
}

// End says how an order ended.
type End struct {
	At     time.Time
	Reason string
	// Block and BlockHash are where it landed. For an order that did not land they are the newest
	// block at its end.
	Block     uint64
	BlockHash common.Hash
	// ReplacedBy is the ID of the version that replaced it, zero for none.
	ReplacedBy uint64
	// ValueWei is what a landed order paid the block's fee recipient, nil if that is not known.
	ValueWei *uint256.Int
}

// Order is a kept order by its ID, nil if it is not known.
func (p *Pool) Order(id uint64) *rpc.Order {
	if e := p.entries[id]; e != nil {
		return e.order
	}
	return nil
}

// OrdersOf are a signer's kept orders with a hash, newest first.
func (p *Pool) OrdersOf(signer common.Address, hash common.Hash) []*rpc.Order {
	var orders []*rpc.Order
	for _, e := range slices.Backward(p.byHash[signed{signer, hash}]) {
		orders = append(orders, e.order)
	}
	return orders
}

// Status returns the status of a signer's kept orders with a hash, newest first. Other signers'
// orders are not included.
func (p *Pool) Status(signer common.Address, hash common.Hash) []Status {
	return statuses(p.byHash[signed{signer, hash}])
}

// Versions returns the status of the kept versions of a signer's replacementUuid, newest first.
func (p *Pool) Versions(signer common.Address, replacement uuid.UUID) []Status {
	if g := p.keys[key{signer, replacement}]; g != nil {
		return statuses(g.versions)
	}
	return nil
}

// Builders are the names of the builders that an order was offered to, in the order in which the
// deliveries ended. A cancel must reach them all: even a builder that gave no answer may have the
// order.
func (p *Pool) Builders(id uint64) []string {
	e := p.entries[id]
	if e == nil {
		return nil
	}
	var names []string
	for _, d := range e.deliveries {
		if !slices.Contains(names, d.Builder) {
			names = append(names, d.Builder)
		}
	}
	return names
}

func statuses(entries []*entry) []Status {
	var all []Status
	for _, e := range slices.Backward(entries) {
		all = append(all, e.status())
	}
	return all
}

func (e *entry) status() Status {
	s := Status{
		Order: e.order, State: e.state, FirstBlock: e.from, Simulations: slices.Clone(e.simulations),
		Deliveries: slices.Clone(e.deliveries),
	}
	if e.end != nil {
		s.End = &End{At: e.end.at, Reason: e.end.reason, Block: e.end.block, BlockHash: e.end.blockHash,
			ReplacedBy: e.end.replacedBy, ValueWei: e.end.valueWei}
	}
	return s
}
