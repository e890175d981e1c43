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

// Order is something that its signer wants in a block. It must not be changed once the pool has it.
// It is JSON in the journal: a field may be added, never renamed.
type Order struct {
	// ID is the order's sequence number: every accepted order has a greater one than all before it,
	// across restarts. The pool assigns it.
	ID     uint64         `json:"id"`
	Kind   Kind           `json:"kind"`
	Signer common.Address `json:"signer"`
	// Source is the network that the request came from. The pool and the simulation queue use it to
	// share their places fairly. It is empty when unknown, as after a restart.
	Source string `json:"-"`
	// ReceivedAt is when the request was complete.
	ReceivedAt time.Time `json:"received_at"`
	// Bundle is what is to be included. For a private transaction it has one element.
	Bundle Bundle `json:"bundle"`
	// Replacement is the replacementUuid; zero when unset (the nil UUID is unset too). It belongs
	// to the signer: two signers may use the same one independently.
	Replacement uuid.UUID `json:"replacement,omitzero"`
	// Builders are the names, in lower case, of the builders that the order is for; empty means the
	// operator's own builder only.
	Builders []string `json:"builders,omitempty"`
	// AllBuilders sends the order to every registered builder (preferences.fast).
	AllBuilders bool `json:"all_builders,omitempty"`
	// Follows is the ID of the order that this one follows, zero for none. That order has replaced
	// the Match and is the first element now. This order is never alive without it.
	Follows uint64 `json:"follows,omitempty"`
}

// Hash is the order's public name: the bundle's hash, or for a private transaction the
// transaction's hash.
func (o *Order) Hash() common.Hash { return o.Bundle.Hash }

// Bundle is a list of elements that are included together, in this order, or not at all.
type Bundle struct {
	// Hash identifies the content. Each method has its own rule for it (docs/spec.md, Bundle hash).
	Hash     common.Hash `json:"hash"`
	Elements []Element   `json:"elements"`
	Window   Window      `json:"window"`
	// Refunds split what the rest of the bundle earns (validity.refund of mev_sendBundle,
	// refundPercent of eth_sendBundle).
	Refunds []ElementRefund `json:"refunds,omitempty"`
	// PaidBy are the elements whose payments Refunds are a part of (refundTxHashes of
	// eth_sendBundle). If it is empty, Refunds are a part of what the elements without a refund
	// earn. If it is set, Refunds has one entry, of element 0, and Shares say who gets it, whoever
	// signed that element.
	PaidBy []int `json:"paid_by,omitempty"`
	// DelayedRefund says that refunds are paid outside of the block.
	DelayedRefund bool `json:"delayed_refund,omitempty"`
	// Shares say who gets a refund for this bundle (validity.refundConfig); empty means the signer
	// of its first transaction.
	Shares []Share `json:"shares,omitempty"`
	// Hints are what searchers may see of it; zero means that it is not announced at all.
	Hints orderflow.Hints `json:"hints,omitempty"`
	// WantRefundPercent is the part of a backrun's value that the sender wants back: 90 by default,
	// 50 with preferences.fast. It is 100 if a private transaction names the recipients'
	// percentages itself: Shares are parts of it.
	WantRefundPercent int `json:"want_refund_percent,omitempty"`
}

// Element is one position of a bundle: exactly one of Tx, Match and Bundle is set.
type Element struct {
	Tx *Transaction `json:"tx,omitempty"`
	// Match is the double hash of another signer's order, which the bundle wants to follow.
	Match  *common.Hash `json:"match,omitempty"`
	Bundle *Bundle      `json:"bundle,omitempty"`
}

// Transaction is a signed transaction as it came, and the fields that were decoded from it once.
type Transaction struct {
	Raw  hexutil.Bytes `json:"raw"`
	Hash common.Hash   `json:"hash"`
	// From is the sender; zero until it is needed. It is set from the beginning for a sender who
	// gets a refund because no Shares name another recipient.
	From  common.Address `json:"from,omitzero"`
	Nonce uint64         `json:"nonce"`
	// CanRevert says that it may fail and then stays in the block. CanDrop says that it may be left
	// out.
	CanRevert bool `json:"can_revert,omitempty"`
	CanDrop   bool `json:"can_drop,omitempty"`
}

// Window says in which blocks a bundle may be included. A zero timestamp sets no bound.
type Window struct {
	FirstBlock uint64 `json:"first_block"`
	LastBlock  uint64 `json:"last_block"`
	// MinTimestamp and MaxTimestamp bound the block's time, in seconds since 1970, inclusive.
	MinTimestamp uint64 `json:"min_timestamp,omitempty"`
	MaxTimestamp uint64 `json:"max_timestamp,omitempty"`
}

// Holds says whether a block with this number and time may include the bundle.
func (w Window) Holds(block, timestamp uint64) bool {
	return w.FirstBlock <= block && block <= w.LastBlock && w.MinTimestamp <= timestamp &&
		(w.MaxTimestamp == 0 || timestamp <= w.MaxTimestamp)
}

// ElementRefund gives the owners of an element a percentage of what the other elements earn.
type ElementRefund struct {
	Element int `json:"element"`
	Percent int `json:"percent"`
}

// Share is one address' percentage of a refund.
type Share struct {
	Address common.Address `json:"address"`
	Percent int            `json:"percent"`
}

// State is where an order is in its life.
//
//	submitted ─▶ simulated ─▶ sent ─▶ landed
//	        └──────┴────────────┴────▶ expired, cancelled, failed
type State string

// Reasons why a cancelled order ended.
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
	Failed    State = "failed"    // it can never be included, or no simulation succeeded before its last block
)

// Final says that no state follows, unless the chain is reorganised.
func (s State) Final() bool { return s == Landed || s == Expired || s == Cancelled || s == Failed }

// Simulation is what an order did on the state of a block. For an order that follows another one,
// GasUsed, Error and ProfitWei (less the refund) are those of its own transactions;
// lifecycle.Status shows its signer less than that.
type Simulation struct {
	// Block is the block that it was simulated for: the one after the state's block.
	Block   uint64 `json:"block"`
	Success bool   `json:"success"`
	// Error says why it cannot be included; Lasting says that no later block changes that.
	Error   string `json:"error,omitempty"`
	Lasting bool   `json:"lasting,omitempty"`
	GasUsed uint64 `json:"gas_used"`
	// GasCharged is what counts for the signer's reputation, if it is not GasUsed. For an order
	// that follows another one it is the sum of its own transactions' gas limits: the gas that they
	// used would tell something about the other order.
	GasCharged uint64 `json:"gas_charged,omitempty"`
	// ProfitWei is what the builder keeps; RefundableWei is the amount that refunds are a part of.
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
	// TookMs is the time from the first byte sent to the answer, including retries, in
	// milliseconds.
	TookMs int64 `json:"took_ms"`
}

// Head is the newest block of the chain.
type Head struct {
	Number    uint64      `json:"number"`
	Hash      common.Hash `json:"hash"`
	Timestamp uint64      `json:"timestamp"`
}

// Transactions are all transactions of a bundle, depth first. A Match has none until it is
// replaced.
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
