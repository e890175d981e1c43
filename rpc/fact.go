package rpc

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// Fact is something that happened. Facts are appended to the journal in the order in which they
// happened. The ledger, the statistics, the metrics and the pool after a restart are projections of
// them. Facts are JSON on disk: a field may be added, never renamed. Frequent facts share messages
// of the journal (EachFact).
type Fact interface {
	// Subject is the journal subject below "rpc.", also the name of the fact in metrics and exports.
	Subject() string
}

// EachFact calls handle for each fact of a journal message, in their order. A message is a list of
// JSON objects, or a single object, as earlier versions wrote all of them. The error is handle's,
// or says that a list can't be read.
func EachFact(message []byte, handle func(fact []byte) error) error {
	if len(message) == 0 || message[0] != '[' {
		return handle(message)
	}
	var facts []json.RawMessage
	if err := json.Unmarshal(message, &facts); err != nil {
		return fmt.Errorf("read a list of facts: %w", err)
	}
	for _, fact := range facts {
		if err := handle(fact); err != nil {
			return err
		}
	}
	return nil
}

// LaterFact is a fact with fields that only a later version of this program knows. Text is how it
// came. Whoever writes the fact again writes that, so that the later version finds its fields.
type LaterFact struct {
	Fact

	Text json.RawMessage
}

// MarshalJSON returns the text.
func (f LaterFact) MarshalJSON() ([]byte, error) { return f.Text, nil }

// OrderRef names an order in a fact.
type OrderRef struct {
	ID     uint64         `json:"id"`
	Hash   common.Hash    `json:"hash"`
	Signer common.Address `json:"signer"`
}

// Ref is the order's name in facts.
func (o *Order) Ref() OrderRef { return OrderRef{ID: o.ID, Hash: o.Hash(), Signer: o.Signer} }

// OrderAccepted says that the pool has accepted an order.
type OrderAccepted struct {
	At    time.Time `json:"at"`
	Order *Order    `json:"order"`
	// From is the first block that the order counts for, if it is later than the window's first
	// block: after a cancel, or because of the order that it follows. In facts of earlier versions
	// it is 0.
	From uint64 `json:"from,omitempty"`
}

// OrderExtended says that a live order was sent again with a window that continues its own. Window
// spans both.
type OrderExtended struct {
	At time.Time `json:"at"`
	OrderRef
	Window Window `json:"window"`
}

// OrderSimulated says what an order did on a state.
type OrderSimulated struct {
	At time.Time `json:"at"`
	OrderRef
	Simulation
}

// OrderShared says what an order is and did, for an order whose signer shares something of it. It
// is recorded once for each order, when a simulation of it first succeeds. The event stream makes
// the hint from it; from then on the order may be followed.
type OrderShared struct {
	// ID is the order's. The signer is left out, since it must not become public.
	ID uint64 `json:"id"`
	orderflow.Shared
}

// OrderSent says that an order was offered to a builder, and how that went.
type OrderSent struct {
	At time.Time `json:"at"`
	OrderRef
	Delivery
}

// OrderEnded says that an order has come to an end: Landed, Expired, Cancelled or Failed.
type OrderEnded struct {
	At time.Time `json:"at"`
	OrderRef
	State State `json:"state"`
	// Reason is for people: "replaced", the last simulation's error, or empty.
	Reason string `json:"reason,omitempty"`
	// Block and BlockHash are where it landed. For an order that did not land they are the newest
	// block at its end.
	Block     uint64      `json:"block,omitempty"`
	BlockHash common.Hash `json:"block_hash,omitzero"`
	// ValueWei is what the block's fee recipient earned by a landed order.
	ValueWei *uint256.Int `json:"value,omitempty"`
	// Summary is what happened before the end.
	Summary Summary `json:"life,omitzero"`
}

// Summary is what is remembered of an order when the pool has forgotten it. A projection that keeps
// it need not follow the order's earlier facts.
type Summary struct {
	Kind       Kind      `json:"kind"`
	ReceivedAt time.Time `json:"received_at"`
	// SimulatedAt is when a simulation succeeded first, zero if none has. SimulationError is the
	// newest simulation's error, empty if that succeeded or there was none.
	SimulatedAt     time.Time `json:"simulated_at,omitzero"`
	SimulationError string    `json:"simulation_error,omitempty"`
}

// OrderReturned says that an order is alive again: the block that it landed in, or that included
// one of its transactions, is not part of the chain any more.
type OrderReturned struct {
	At time.Time `json:"at"`
	OrderRef
}

// CancelNoted says that a signer cancelled a replacementUuid. Orders that have it no longer count,
// nor do those that come with it during a time after the cancel.
type CancelNoted struct {
	At          time.Time      `json:"at"`
	Signer      common.Address `json:"signer"`
	Replacement uuid.UUID      `json:"replacement"`
	// Block is the block that was next at the time.
	Block uint64 `json:"block"`
	// Barred is the last block that a version which comes after the cancel does not count for; 0 if
	// no version was seen, or in facts of earlier versions.
	Barred uint64 `json:"barred,omitempty"`
}

// CallSimulated says that a signer had something simulated (eth_callBundle, mev_simBundle).
type CallSimulated struct {
	At      time.Time      `json:"at"`
	Signer  common.Address `json:"signer"`
	Method  string         `json:"method"`
	GasUsed uint64         `json:"gas_used"`
	Success bool           `json:"success"`
}

// StateKept marks where a snapshot stands among the facts. The snapshot holds what the facts before
// it say of live orders, cancels and signers, so that a start reads only the snapshot and the facts
// after it.
type StateKept struct {
	At     time.Time `json:"at"`
	Number uint64    `json:"number"`
}

// RefundCredited says that a recipient is owed a part of what a landed order paid: the refund is
// pending.
type RefundCredited struct {
	At time.Time `json:"at"`
	Refund
}

// Refund is an amount for a recipient, because of an order in a block.
type Refund struct {
	// Hash is the order's. Bundle is the hash of the bundle that brought the refund, if that is
	// another one.
	Hash      common.Hash    `json:"hash"`
	Bundle    common.Hash    `json:"bundle,omitzero"`
	Block     uint64         `json:"block"`
	BlockHash common.Hash    `json:"block_hash"`
	Recipient common.Address `json:"recipient"`
	AmountWei *uint256.Int   `json:"amount"`
	// Sender sent the first transaction of the order; zero in facts of versions that did not write
	// it.
	Sender common.Address `json:"sender,omitzero"`
	// Delayed says that it is paid outside of the block, as BuilderNet does.
	Delayed bool `json:"delayed,omitempty"`
}

// RefundPaid says that the payout of a refund was seen on the chain: the refund is received. Order,
// bundle, block and recipient together identify the refund, because several bundles may have
// followed one order.
type RefundPaid struct {
	At        time.Time      `json:"at"`
	Hash      common.Hash    `json:"hash"`
	Bundle    common.Hash    `json:"bundle,omitzero"`
	Block     uint64         `json:"block"`
	BlockHash common.Hash    `json:"block_hash"`
	Recipient common.Address `json:"recipient"`
	// PayoutTx is the transaction that paid; PayoutBlock is its block.
	PayoutTx    common.Hash `json:"payout_tx"`
	PayoutBlock uint64      `json:"payout_block"`
}

// RecipientSet says that later refunds for one address go to another.
type RecipientSet struct {
	At   time.Time      `json:"at"`
	From common.Address `json:"from"`
	To   common.Address `json:"to"`
}

// BlockIndexed says that all refunds of a block, and of all before it, have been counted.
type BlockIndexed struct {
	At time.Time `json:"at"`
	Head
}

// BlockReverted says that a block is not part of the chain any more. Its refunds no longer count.
type BlockReverted struct {
	At time.Time `json:"at"`
	Head
}

// Subject implements Fact.
func (OrderAccepted) Subject() string { return "order_accepted" }

// Subject implements Fact.
func (OrderExtended) Subject() string { return "order_extended" }

// Subject implements Fact.
func (OrderSimulated) Subject() string { return "order_simulated" }

// Subject implements Fact.
func (OrderShared) Subject() string { return "order_shared" }

// Subject implements Fact.
func (OrderSent) Subject() string { return "order_sent" }

// Subject implements Fact.
func (OrderEnded) Subject() string { return "order_ended" }

// Subject implements Fact.
func (OrderReturned) Subject() string { return "order_returned" }

// Subject implements Fact.
func (CancelNoted) Subject() string { return "cancel_noted" }

// Subject implements Fact.
func (CallSimulated) Subject() string { return "call_simulated" }

// Subject implements Fact.
func (StateKept) Subject() string { return "state_kept" }

// Subject implements Fact.
func (RefundCredited) Subject() string { return "refund_credited" }

// Subject implements Fact.
func (RefundPaid) Subject() string { return "refund_paid" }

// Subject implements Fact.
func (RecipientSet) Subject() string { return "recipient_set" }

// Subject implements Fact.
func (BlockIndexed) Subject() string { return "block_indexed" }

// Subject implements Fact.
func (BlockReverted) Subject() string { return "block_reverted" }
