package rpc

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// OrderStatus is all that is known of an order.
type OrderStatus struct {
	// Order is nil when the pool has forgotten it; then Kind and ReceivedAt are all that is known of
	// it, and of its history the first times.
	Order      *Order
	Hash       common.Hash
	Kind       Kind
	ReceivedAt time.Time
	State      State
	// FirstBlock is the first block that it counts for: its window's, or a later one when a cancel
	// came before it.
	FirstBlock uint64
	// Reason is why it ended, Block where it landed.
	Reason    string
	Block     uint64
	BlockHash common.Hash
	ValueWei  *uint256.Int
	EndedAt   time.Time
	// Simulations and Deliveries are the newest ones, oldest first.
	Simulations []DatedSimulation
	Deliveries  []DatedDelivery
	// Withheld: it follows an order that is not on the chain, so that its signer is told only whether
	// it could be included, and only of blocks that are over.
	Withheld bool
}

// DatedSimulation is a simulation and when it ended.
type DatedSimulation struct {
	At time.Time
	Simulation
}

// DatedDelivery is a delivery and when it ended.
type DatedDelivery struct {
	At time.Time
	Delivery
}

// UserStats is what is known of a signer.
type UserStats struct {
	// High: its simulations come first.
	High               bool
	AllTime, Week, Day UserSums
	// Orders were accepted; FailedOrders can never be included.
	Orders, FailedOrders uint64
}

// UserSums are sums over a time.
type UserSums struct {
	// ValueWei is what its landed orders paid fee recipients, GasSimulated what simulating them used.
	ValueWei     *uint256.Int
	GasSimulated uint64
}
