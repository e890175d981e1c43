// Package orders takes orders for a builder and puts them into blocks. It does not know relays, so
// that programs other than builders can fill blocks with it.
//
//	orders, by JSON-RPC ─▶ Handler (endpoint.go): signature, forms (decode.go) ─▶ queue (queue.go)
//	draft of a block ────▶ Merge: simulate each order that waits, pay its refunds (refund.go), place the best (merge.go)
//
// Later blocks do not contain an order that was cancelled.
package orders

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
)

// Order is a private transaction or a bundle that is to be included in a block.
type Order struct {
	// Signer is who signed the request. Only the signer can cancel or replace the order, by its
	// Replacement, if that is set.
	Signer      common.Address
	Replacement uuid.UUID
	Bundle      Bundle
	Window      Window
	// arrival numbers orders in the order in which they came.
	arrival uint64
}

// Window says for which blocks an order is valid. Bounds are inclusive; zero means no bound.
type Window struct {
	FirstBlock, LastBlock uint64
	// MinTimestamp and MaxTimestamp bound the block's time, in seconds.
	MinTimestamp, MaxTimestamp uint64
	// Blocks is for how many blocks it is tried, beginning with the first block that is built after
	// it came; 0 means no bound.
	Blocks uint64
}

// Bundle is included completely, in its order and without other transactions in between, or not at
// all.
type Bundle struct {
	Elements []Element
	// Refunds give back a part of what was paid by the elements that no refund names; or, with
	// PaidBy, of what these transactions paid.
	Refunds []Refund
	PaidBy  []common.Hash
	// Shares say who gets the refund of the whole bundle. If there are none, it is the owner of the
	// first element.
	Shares []Share
	// Delayed says that refunds are not paid in the block, but afterwards, if at all.
	Delayed bool
}

// Element is a transaction or a bundle: exactly one of them is set.
type Element struct {
	Tx     *Tx
	Bundle *Bundle
}

// Tx is a signed transaction.
type Tx struct {
	*types.Transaction
	From common.Address
	// CanRevert says that the transaction may be included although it reverts. CanDrop says that it
	// may be left out if it reverts or cannot be applied.
	CanRevert, CanDrop bool
}

// Refund is the percentage of the refundable value that the owners of an element get.
type Refund struct {
	Element, Percent int
}

// Share is an address's percentage of a refund.
type Share struct {
	Address common.Address
	Percent int
}

// transactions returns all transactions of a bundle, depth first.
func (b *Bundle) transactions() []*Tx {
	var list []*Tx
	for _, e := range b.Elements {
		if e.Tx != nil {
			list = append(list, e.Tx)
			continue
		}
		list = append(list, e.Bundle.transactions()...)
	}
	return list
}

// fits says whether an order may be in a block. firstTried is the block number for which it was
// tried first.
func (w Window) fits(block, timestamp, firstTried uint64) bool {
	return block >= w.FirstBlock && (w.LastBlock == 0 || block <= w.LastBlock) &&
		timestamp >= w.MinTimestamp && (w.MaxTimestamp == 0 || timestamp <= w.MaxTimestamp) &&
		(w.Blocks == 0 || block < firstTried+w.Blocks)
}

// over says whether the window has ended before a block, so that no later block can have the order.
func (w Window) over(block, timestamp, firstTried uint64) bool {
	return w.LastBlock != 0 && block > w.LastBlock || w.MaxTimestamp != 0 && timestamp > w.MaxTimestamp ||
		w.Blocks != 0 && firstTried != 0 && block >= firstTried+w.Blocks
}
