package dataset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/scenarios"
)

// orderBook follows orders through the facts of bundle RPCs. It has some hundred bytes for each
// order, and for each builder and each refund of one.
type orderBook struct {
	all    []*foldedOrder // in the order in which they came
	byID   map[orderID]*foldedOrder
	byHash map[orderHash][]*foldedOrder
	// credits are refunds by the block of their order, payouts those that were paid by the number of
	// the block that paid.
	credits map[common.Hash][]*credit
	payouts map[uint64][]*credit
}

type orderID struct {
	service string
	id      uint64
}

type orderHash struct {
	service string
	hash    common.Hash
}

// foldedOrder is what facts so far say of an order.
type foldedOrder struct {
	row      Order
	builders []string // that took it
	credits  []*credit
}

// credit is a refund that somebody is owed because of an order.
type credit struct {
	bundle, block common.Hash
	recipient     common.Address
	wei           *uint256.Int
	// paid: its payout is on the chain. gone: the order's block is not on the chain any more.
	paid, gone bool
}

// mostOfAnOrder bounds the builders and the refunds of an order.
const mostOfAnOrder = 1024

// Why a fact of an order is refused.
var (
	errNoAccepted = errors.New("no order")
	errOtherOrder = errors.New("another order has this id")
	errTooMany    = fmt.Errorf("the order has more than %d builders or refunds", mostOfAnOrder)
)

// kindsOfOrders are the kinds of orders as the table has them.
var kindsOfOrders = map[rpc.Kind]Text{
	rpc.KindBundle: "bundle", rpc.KindPrivate: "private-transaction", rpc.KindShare: "share",
}

func (r *factReader) orderAccepted(record *scenarios.Record) ([]any, error) {
	var f rpc.OrderAccepted
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	if f.Order == nil {
		return nil, errNoAccepted
	}
	b, id := &r.orders, orderID{record.Actor, f.Order.ID}
	if b.byID == nil {
		*b = orderBook{
			byID: map[orderID]*foldedOrder{}, byHash: map[orderHash][]*foldedOrder{}, credits: map[common.Hash][]*credit{},
			payouts: map[uint64][]*credit{},
		}
	}
	hash := f.Order.Hash()
	if known := b.byID[id]; known != nil { // a journal that is read again
		if known.row.Hash.V != hash {
			return nil, errOtherOrder
		}
		return nil, nil
	}
	o := &foldedOrder{row: Order{
		Slot: Int{int64(record.Slot), true}, ReceivedAt: timeOf(f.At), Source: "run", Service: Text(record.Actor),
		Kind: kindsOfOrders[f.Order.Kind], Hash: Hash{hash, true}, Signer: Address{f.Order.Signer, true},
		State: OrderAlive,
	}}
	if err := o.row.check(r.from.Network); err != nil {
		return nil, err
	}
	if followed := b.byID[orderID{record.Actor, f.Order.Follows}]; f.Order.Follows != 0 && followed != nil {
		o.row.Follows = followed.row.Hash
		first(&followed.row.MatchedAt, timeOf(f.At))
	}
	b.all, b.byID[id] = append(b.all, o), o
	name := orderHash{record.Actor, hash}
	b.byHash[name] = append(b.byHash[name], o)
	return nil, nil
}

// first sets a moment that is not set yet.
func first(at *Time, now Time) {
	if !at.Known {
		*at = now
	}
}

// of is the order that a fact is about, nil if its beginning is not among the facts.
func (b *orderBook) of(record *scenarios.Record, id uint64) *foldedOrder {
	return b.byID[orderID{record.Actor, id}]
}

func (r *factReader) orderSimulated(record *scenarios.Record) ([]any, error) {
	var f rpc.OrderSimulated
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	if o := r.orders.of(record, f.ID); o != nil && f.Success {
		first(&o.row.SimulatedAt, timeOf(f.At))
	}
	return nil, nil
}

func (r *factReader) orderShared(record *scenarios.Record) ([]any, error) {
	var f rpc.OrderShared
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	if o := r.orders.of(record, f.ID); o != nil {
		first(&o.row.SharedAt, timeOf(f.At))
	}
	return nil, nil
}

func (r *factReader) orderSent(record *scenarios.Record) ([]any, error) {
	var f rpc.OrderSent
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	o := r.orders.of(record, f.ID)
	if o == nil || f.Error != "" || slices.Contains(o.builders, f.Builder) {
		return nil, nil
	}
	if len(o.builders) >= mostOfAnOrder {
		return nil, errTooMany
	}
	o.builders = append(o.builders, f.Builder)
	first(&o.row.SentAt, timeOf(f.At))
	return nil, nil
}

func (r *factReader) orderEnded(record *scenarios.Record) ([]any, error) {
	var f rpc.OrderEnded
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	o := r.orders.of(record, f.ID)
	if o == nil {
		return nil, nil
	}
	if !f.State.Final() {
		return nil, fmt.Errorf("an order cannot end as %q", cut(string(f.State)))
	}
	ended := o.row
	ended.State, ended.Reason, ended.EndedAt = Text(f.State), Text(f.Reason), timeOf(f.At)
	ended.BlockNumber, ended.BlockHash, ended.ValueWei = Int{}, Hash{}, Wei{}
	if f.State == rpc.Landed {
		if ended.BlockNumber = (Int{int64(f.Block), true}); ended.BlockNumber.V < 0 {
			return nil, fmt.Errorf("block: %w", errNotInt)
		}
		ended.BlockHash = Hash{f.BlockHash, true}
		var err error
		if f.ValueWei != nil {
			if ended.ValueWei, err = weiOf(f.ValueWei); err != nil {
				return nil, err
			}
		}
	}
	o.row = ended
	return nil, nil
}

// orderReturned takes back the end of an order: its block is not on the chain any more.
func (r *factReader) orderReturned(record *scenarios.Record) ([]any, error) {
	var f rpc.OrderReturned
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	if o := r.orders.of(record, f.ID); o != nil {
		o.row.State, o.row.Reason, o.row.EndedAt = OrderAlive, "", Time{}
		o.row.BlockNumber, o.row.BlockHash, o.row.ValueWei = Int{}, Hash{}, Wei{}
	}
	return nil, nil
}

func (r *factReader) refundCredited(record *scenarios.Record) ([]any, error) {
	var f rpc.RefundCredited
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	if _, err := weiOf(f.AmountWei); err != nil {
		return nil, err
	}
	o := r.orders.named(orderHash{record.Actor, f.Hash}, f.BlockHash)
	switch {
	case o == nil || o.find(f.Bundle, f.BlockHash, f.Recipient) != nil:
		return nil, nil
	case len(o.credits) >= mostOfAnOrder:
		return nil, errTooMany
	}
	c := &credit{bundle: f.Bundle, block: f.BlockHash, recipient: f.Recipient, wei: f.AmountWei}
	o.credits = append(o.credits, c)
	r.orders.credits[f.BlockHash] = append(r.orders.credits[f.BlockHash], c)
	return nil, nil
}

// named is the order with a hash: the one that landed in the block, or else the newest.
func (b *orderBook) named(name orderHash, block common.Hash) *foldedOrder {
	all := b.byHash[name]
	for _, o := range all {
		if o.row.BlockHash.Known && o.row.BlockHash.V == block {
			return o
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// find is the refund that these say, nil if it does not count.
func (o *foldedOrder) find(bundle, block common.Hash, recipient common.Address) *credit {
	for _, c := range o.credits {
		if !c.gone && c.bundle == bundle && c.block == block && c.recipient == recipient {
			return c
		}
	}
	return nil
}

func (r *factReader) refundPaid(record *scenarios.Record) ([]any, error) {
	var f rpc.RefundPaid
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	for _, o := range r.orders.byHash[orderHash{record.Actor, f.Hash}] {
		if c := o.find(f.Bundle, f.BlockHash, f.Recipient); c != nil && !c.paid {
			c.paid = true
			r.orders.payouts[f.PayoutBlock] = append(r.orders.payouts[f.PayoutBlock], c)
		}
	}
	return nil, nil
}

// blockReverted takes back the refunds of a block, and the payouts that were in it.
func (r *factReader) blockReverted(record *scenarios.Record) ([]any, error) {
	var f rpc.BlockReverted
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	b := &r.orders
	for _, c := range b.credits[f.Hash] {
		c.gone = true
	}
	for _, c := range b.payouts[f.Number] {
		c.paid = false
	}
	delete(b.credits, f.Hash)
	delete(b.payouts, f.Number)
	return nil, nil
}

// put writes the orders when all facts are read. Each has a place of its own behind the last line.
func (b *orderBook) put(last int64, n Network, to Sink) error {
	for i, o := range b.all {
		at := last + 1 + int64(i)
		row, err := o.finished(n)
		if err != nil {
			err = to.Bad(at, fmt.Sprintf("order %#x", o.row.Hash.V), err)
		} else {
			err = to.Row(at, row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finished is the row of an order when all facts are read.
func (o *foldedOrder) finished(n Network) (*Order, error) {
	row, refunded := o.row, new(uint256.Int)
	row.Builders = Int{int64(len(o.builders)), true}
	for _, c := range o.credits {
		if c.paid && !c.gone {
			refunded.Add(refunded, c.wei)
			row.RefundWei.Known = true
		}
	}
	if row.RefundWei.Known {
		var err error
		if row.RefundWei, err = weiOf(refunded); err != nil {
			return nil, err
		}
	}
	return &row, row.check(n)
}
