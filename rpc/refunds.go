package rpc

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// RefundRecord is a refund, and whether it was paid.
type RefundRecord struct {
	Refund
	// Received says that the payout was seen on the chain: PayoutTx in PayoutBlock. Until then the
	// refund is pending.
	Received    bool
	PayoutTx    common.Hash
	PayoutBlock uint64
}

// RefundPage is a part of a list of refunds, the oldest block first.
type RefundPage struct {
	Refunds []RefundRecord // never nil
	// Cursor asks for the next page; it is empty when there can be none. An empty page may have a
	// cursor: the blocks that follow are not indexed yet.
	Cursor string
	// UpTo is the highest block whose refunds are all counted; 0 before the first.
	UpTo uint64
}

// RefundTotals are sums over all refunds that match a query.
type RefundTotals struct {
	PendingWei, ReceivedWei *uint256.Int
	// UpTo is the highest block that is counted; 0 for none.
	UpTo uint64
}

// DelayedQuery asks for delayed refunds. Bounds are inclusive.
type DelayedQuery struct {
	Recipient common.Address
	// FromBlock and ToBlock bound the orders' blocks; nil sets no bound.
	FromBlock, ToBlock *uint64
	// Hash, if set, is the bundle's; it needs both bounds.
	Hash *common.Hash
}

// OrderRecord is what is remembered of an order when the pool has forgotten it.
type OrderRecord struct {
	OrderRef
	Kind Kind
	// State and Reason are those of OrderEnded.
	State  State
	Reason string
	// ReceivedAt is when the order came first. SimulatedAt is when a simulation succeeded first,
	// zero if none has.
	ReceivedAt, SimulatedAt time.Time
	// SimulationError is the newest simulation's, empty if it succeeded or there was none.
	SimulationError string
	// Sent are the builders that accepted it, in the order in which each first did so.
	Sent []OrderSending
	// EndedAt is when it ended, zero if a reorganisation took the end back. Block, BlockHash and
	// ValueWei are those of OrderEnded.
	EndedAt   time.Time
	Block     uint64
	BlockHash common.Hash
	ValueWei  *uint256.Int // nil for none
}

// OrderSending says when a builder first accepted an order.
type OrderSending struct {
	Builder string
	At      time.Time
}
