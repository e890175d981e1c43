package rpc

import (
	"iter"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// Kind says by which method an order came.
type Kind string

// The kinds of orders.
const (
	KindBundle  Kind = "bundle"              // eth_sendBundle
	KindShare   Kind = "mev_bundle"          // mev_sendBundle
	KindPrivate Kind = "private_transaction" // eth_sendPrivateTransaction and its kin
)

// Order is something that its signer wants in a block. Nobody may change it once the pool has it.
// It is JSON in the journal: a field may be added, never renamed.
type Order struct {
	// ID is the order's place in the intake: every accepted order has a greater one than all before
	// it, across restarts. The pool gives it.
	ID     uint64         `json:"id"`
	Kind   Kind           `json:"kind"`
	Signer common.Address `json:"signer"`
	// Source is the network that the request came from, for shares of what many want; empty when that
	// is not known, as after a restart.
	Source string `json:"-"`
	// ReceivedAt is when the request was complete.
	ReceivedAt time.Time `json:"received_at"`
	// Bundle is what is to be included. Of a private transaction it has one element.
	Bundle Bundle `json:"bundle"`
	// Replacement is the replacementUuid; zero when unset (the nil UUID is unset too). It is the
	// signer's own: the same one of another signer is another one.
	Replacement uuid.UUID `json:"replacement,omitzero"`
	// Builders are the names, in lower case, of those that the order is for; empty means the
	// operator's own builder only.
	Builders []string `json:"builders,omitempty"`
	// AllBuilders sends the order to every registered builder (preferences.fast).
	AllBuilders bool `json:"all_builders,omitempty"`
	// Follows is the ID of the order that a Match was replaced with, zero for none: that is the first
	// element now. This one is never alive without it.
	Follows uint64 `json:"follows,omitempty"`
}

// Hash is what the order is called on the wire: the bundle's hash, and of a private transaction the
// transaction's.
func (o *Order) Hash() common.Hash { return o.Bundle.Hash }

// Bundle is a list of elements that are included together, in this order, or not at all.
type Bundle struct {
	// Hash identifies the content, by the rule of the method that it came by (docs/spec.md, Bundle
	// hash).
	Hash     common.Hash `json:"hash"`
	Elements []Element   `json:"elements"`
	Window   Window      `json:"window"`
	// Refunds split what the rest of the bundle earns (validity.refund of mev_sendBundle,
	// refundPercent of eth_sendBundle).
	Refunds []ElementRefund `json:"refunds,omitempty"`
	// PaidBy are the elements whose payment Refunds are a part of, if it is not what the elements
	// without a refund earn (refundTxHashes of eth_sendBundle). Then Refunds has one entry, of element
	// 0, and Shares say to whom it goes, whoever signed that element.
	PaidBy []int `json:"paid_by,omitempty"`
	// DelayedRefund: refunds are paid outside of the block.
	DelayedRefund bool `json:"delayed_refund,omitempty"`
	// Shares say to whom a refund for this bundle goes (validity.refundConfig); empty means the signer
	// of its first transaction.
	Shares []Share `json:"shares,omitempty"`
	// Hints are what searchers may see of it; zero means that nobody learns of it.
	Hints orderflow.Hints `json:"hints,omitempty"`
	// WantRefundPercent is the part of a backrun's value that is to come back: 90 by default, 50 with
	// preferences.fast; 100, of which Shares are parts, if a private transaction says who gets how
	// much.
	WantRefundPercent int `json:"want_refund_percent,omitempty"`
}

// Element is one place of a bundle: exactly one of Tx, Match and Bundle is set.
type Element struct {
	Tx *Transaction `json:"tx,omitempty"`
	// Match is the double hash of somebody else's order, which the bundle wants to follow.
	Match  *common.Hash `json:"match,omitempty"`
	Bundle *Bundle      `json:"bundle,omitempty"`
}

// Transaction is a signed transaction as it came, and what was read from it once.
type Transaction struct {
	Raw  hexutil.Bytes `json:"raw"`
	Hash common.Hash   `json:"hash"`
	// From is the sender; zero while nobody needed it. Whoever a refund goes to, if no Shares say it,
	// is known from the beginning.
	From  common.Address `json:"from,omitzero"`
	Nonce uint64         `json:"nonce"`
	// CanRevert: it may fail, and stays in the block then. CanDrop: it may be left out.
	CanRevert bool `json:"can_revert,omitempty"`
	CanDrop   bool `json:"can_drop,omitempty"`
}

// Window says in which blocks a bundle may be. A zero timestamp does not bound.
type Window struct {
	FirstBlock uint64 `json:"first_block"`
	LastBlock  uint64 `json:"last_block"`
	// MinTimestamp and MaxTimestamp bound the block's time, in seconds since 1970, inclusive.
	MinTimestamp uint64 `json:"min_timestamp,omitempty"`
	MaxTimestamp uint64 `json:"max_timestamp,omitempty"`
}

// Holds says whether a block with this number and time may have the bundle.
func (w Window) Holds(block, timestamp uint64) bool {
	return w.FirstBlock <= block && block <= w.LastBlock && w.MinTimestamp <= timestamp &&
		(w.MaxTimestamp == 0 || timestamp <= w.MaxTimestamp)
}

// ElementRefund gives a percentage of what the other elements earn to those whose element it is.
type ElementRefund struct {
	Element int `json:"element"`
	Percent int `json:"percent"`
}

// Share is an address' percentage of a refund.
type Share struct {
	Address common.Address `json:"address"`
	Percent int            `json:"percent"`
}

// State is where an order is in its life.
//
//	submitted ─▶ simulated ─▶ sent ─▶ landed
//	        └──────┴────────────┴────▶ expired, cancelled, failed
type State string

// Reasons of a cancelled order's end.
const (
	// ReplacedByVersion: a newer version took its place.
	ReplacedByVersion = "replaced"
	// CancelledBySigner: its signer cancelled it.
	CancelledBySigner = "cancelled by its signer"
)

// The states. The last four are final.
const (
	Submitted State = "submitted"
	Simulated State = "simulated" // the newest simulation succeeded
	Sent      State = "sent"      // at least one builder has it
	Landed    State = "landed"    // it is in a block of the chain
	Expired   State = "expired"   // its last block is over
	Cancelled State = "cancelled" // by its signer, or replaced by it
	Failed    State = "failed"    // it can never be included: a nonce is used, or all its blocks refused it
)

// Final says that no state follows, unless the chain is reorganised.
func (s State) Final() bool { return s == Landed || s == Expired || s == Cancelled || s == Failed }

// Simulation is what an order did on the state of a block. Of one that follows another order it is
// what its own transactions did, as GasUsed, ProfitWei less the refund, and Error; its signer is
// told less (lifecycle.Status).
type Simulation struct {
	// Block is the block it was simulated for: the one after the state's.
	Block   uint64 `json:"block"`
	Success bool   `json:"success"`
	// Error says why it cannot be included; Lasting, that no later block changes that.
	Error   string `json:"error,omitempty"`
	Lasting bool   `json:"lasting,omitempty"`
	GasUsed uint64 `json:"gas_used"`
	// GasCharged is what counts for the signer's reputation, if it is not GasUsed: of an order that
	// follows another one the limits of its own transactions, whatever they did. What they used would
	// tell of the other one.
	GasCharged uint64 `json:"gas_charged,omitempty"`
	// ProfitWei is what the builder keeps, RefundableWei what refunds are counted from.
	ProfitWei     *uint256.Int `json:"profit"`
	RefundableWei *uint256.Int `json:"refundable"`
}

// Delivery is one attempt to hand an order to a builder.
type Delivery struct {
	Builder string `json:"builder"`
	// Block is the block that the builder is to put it in.
	Block uint64 `json:"block"`
	// Error is what went wrong; empty when the builder took it.
	Error string `json:"error,omitempty"`
	// TookMs is the time from the first byte sent to the answer, with retries.
	TookMs int64 `json:"took_ms"`
}

// Head is the newest block of the chain.
type Head struct {
	Number    uint64      `json:"number"`
	Hash      common.Hash `json:"hash"`
	Timestamp uint64      `json:"timestamp"`
}

// Transactions are all transactions of a bundle, depth first. A hash that was not matched has none.
func (b *Bundle) Transactions() iter.Seq[*Transaction] {
	return func(yield func(*Transaction) bool) { b.each(yield) }
}

func (b *Bundle) each(yield func(*Transaction) bool) bool {
	for i := range b.Elements {
		switch e := &b.Elements[i]; {
		case e.Tx != nil:
			if !yield(e.Tx) {
				return false
			}
		case e.Bundle != nil:
			if !e.Bundle.each(yield) {
				return false
			}
		}
	}
	return true
}
