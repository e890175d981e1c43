// Package orders is how a builder takes orders and puts them into blocks. It knows no relay, so
// that others than builders may fill blocks with it.
//
//	orders, by JSON-RPC ─▶ Handler (endpoint.go): signature, forms (decode.go) ─▶ queue (queue.go)
//	draft of a block ────▶ Merge: simulate each order that waits, pay its refunds (refund.go), place the best (merge.go)
//
// An order that was cancelled is in no later block.
package orders

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
)

// Order is what somebody wants in a block: a private transaction or a bundle.
type Order struct {
	// Signer has signed the request, and alone can cancel or replace the order, by its Replacement, if
	// that is set.
	Signer      common.Address
	Replacement uuid.UUID
	Bundle      Bundle
	Window      Window
	// arrival counts orders as they came.
	arrival uint64
}

// Window says for which blocks an order is. Bounds are inclusive; a zero does not bound.
type Window struct {
	FirstBlock, LastBlock uint64
	// MinTimestamp and MaxTimestamp bound the block's time, in seconds.
	MinTimestamp, MaxTimestamp uint64
	// Blocks is for how many blocks it is tried, from the first one that is built after it came; 0
	// does not bound.
	Blocks uint64
}

// Bundle is in the block whole, in its order and with nothing between, or not at all.
type Bundle struct {
	Elements []Element
	// Refunds give back of what the elements paid that they do not name; or, with PaidBy, of what
	// these transactions paid.
	Refunds []Refund
	PaidBy  []common.Hash
	// Shares say who gets a refund for the whole bundle; without any it is the owner of its first
	// element.
	Shares []Share
	// Delayed: refunds are paid outside the block, if at all.
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
	// CanRevert: it may fail in execution, and stays then. CanDrop: it may be left out, if it fails or
	// cannot be applied.
	CanRevert, CanDrop bool
}

// Refund is what part of the refundable value the owners of an element get.
type Refund struct {
	Element, Percent int
}

// Share is somebody's part of a refund.
type Share struct {
	Address common.Address
	Percent int
}

// transactions are those of a bundle, depth first.
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

// fits says whether an order may be in a block. firstTried is the block of the auction in which it
// was tried first.
func (w Window) fits(block, timestamp, firstTried uint64) bool {
	return block >= w.FirstBlock && (w.LastBlock == 0 || block <= w.LastBlock) &&
		timestamp >= w.MinTimestamp && (w.MaxTimestamp == 0 || timestamp <= w.MaxTimestamp) &&
		(w.Blocks == 0 || block < firstTried+w.Blocks)
}

// over says whether a window is over when a block was built.
func (w Window) over(block, timestamp, firstTried uint64) bool {
	return w.LastBlock != 0 && block > w.LastBlock || w.MaxTimestamp != 0 && timestamp > w.MaxTimestamp ||
		w.Blocks != 0 && firstTried != 0 && block >= firstTried+w.Blocks
}
