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
// happened; the ledger, statistics, metrics and the pool of the next start are projections of them.
// Facts are JSON on disk: a field may be added, never renamed. Those that come in thousands share
// messages of the journal (EachFact).
type Fact interface {
	// Subject is the journal subject below "rpc.", also the name of the fact in metrics and exports.
	Subject() string
}

// EachFact hands over the facts of a message of the journal in their order: a list of JSON objects,
// or one object alone, which is how journals of earlier versions have them all. The error is
// handle's, or says that a list is none.
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

// OrderRef names an order in a fact.
type OrderRef struct {
	ID     uint64         `json:"id"`
	Hash   common.Hash    `json:"hash"`
	Signer common.Address `json:"signer"`
}

// Ref is the order's name in facts.
func (o *Order) Ref() OrderRef { return OrderRef{ID: o.ID, Hash: o.Hash(), Signer: o.Signer} }

// OrderAccepted says that the pool has an order from now on.
type OrderAccepted struct {
	At    time.Time `json:"at"`
	Order *Order    `json:"order"`
	// From is the first block that the order counts for, if that is later than its window's: after a
	// cancel, or with an order that it follows. In facts of earlier versions it is 0.
	From uint64 `json:"from,omitempty"`
}

// OrderExtended says that a live order was sent again with a window that goes on where its own
// ends: Window is both together.
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

// OrderShared says what an order whose signer shares something of it is and did, when it first
// succeeded in a simulation: once for each order. The event stream makes its hint of it; from now
// on the order may be followed.
type OrderShared struct {
	// ID is the order's; its signer is nobody's affair outside.
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
	// Block and BlockHash are where it landed; else the newest block then.
	Block     uint64      `json:"block,omitempty"`
	BlockHash common.Hash `json:"block_hash,omitzero"`
	// ValueWei is what the block's fee recipient earned by a landed order.
	ValueWei *uint256.Int `json:"value,omitempty"`
	// Life sums up what was before.
	Life Life `json:"life,omitzero"`
}

// Life is of an order what is remembered when the pool has forgotten it, so that whoever keeps it
// need not follow each order all along.
type Life struct {
	Kind       Kind      `json:"kind"`
	ReceivedAt time.Time `json:"received_at"`
	// SimulatedAt is when a simulation succeeded first, zero if none has. SimulationError is the
	// newest one's, empty if that succeeded or there was none.
	SimulatedAt     time.Time `json:"simulated_at,omitzero"`
	SimulationError string    `json:"simulation_error,omitempty"`
}

// OrderReturned says that an order is alive again: the block that it landed in, or that took one of
// its transactions, is not part of the chain any more.
type OrderReturned struct {
	At time.Time `json:"at"`
	OrderRef
}

// CancelNoted says that a signer cancelled a replacementUuid: what has it, and what comes with it
// later for a while, does not count.
type CancelNoted struct {
	At          time.Time      `json:"at"`
	Signer      common.Address `json:"signer"`
	Replacement uuid.UUID      `json:"replacement"`
	// Block is the block that was next then.
	Block uint64 `json:"block"`
	// Barred is the last block that a version which comes later does not count for; 0 if no version
	// was seen, or in facts of earlier versions.
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

// StateKept is where a snapshot stands among the facts: what those before say of live orders,
// cancels and signers is kept as state too, so that a start reads the snapshot and the facts behind
// it.
type StateKept struct {
	At     time.Time `json:"at"`
	Number uint64    `json:"number"`
}

// RefundCredited says that somebody is owed a part of what a landed order paid: the refund is
// pending.
type RefundCredited struct {
	At time.Time `json:"at"`
	Refund
}

// Refund is an amount for a recipient, because of an order in a block.
type Refund struct {
	// Hash is the order's, Bundle the bundle's that brought the refund, if it is another one.
	Hash      common.Hash    `json:"hash"`
	Bundle    common.Hash    `json:"bundle,omitzero"`
	Block     uint64         `json:"block"`
	BlockHash common.Hash    `json:"block_hash"`
	Recipient common.Address `json:"recipient"`
	AmountWei *uint256.Int   `json:"amount"`
	// Sender sent the first transaction of the order; zero in facts of versions that did not say it.
	Sender common.Address `json:"sender,omitzero"`
	// Delayed: it is paid outside of the block (BuilderNet's manner).
	Delayed bool `json:"delayed,omitempty"`
}

// RefundPaid says that the payout of a refund was seen on the chain: the refund is received. Order,
// bundle, block and recipient name the refund: several bundles may have followed one order.
type RefundPaid struct {
	At        time.Time      `json:"at"`
	Hash      common.Hash    `json:"hash"`
	Bundle    common.Hash    `json:"bundle,omitzero"`
	Block     uint64         `json:"block"`
	BlockHash common.Hash    `json:"block_hash"`
	Recipient common.Address `json:"recipient"`
	// PayoutTx is the transaction that paid, PayoutBlock the block it is in.
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

// BlockReverted says that a block is not part of the chain any more. Its refunds never were.
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
