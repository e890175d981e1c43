package rpc

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// OrderStatus is all that is known of an order.
type OrderStatus struct {
	// Order is nil when the pool has forgotten it. Then Kind, ReceivedAt and the first times of its
	// history are all that is known of it.
	Order      *Order
	Hash       common.Hash
	Kind       Kind
	ReceivedAt time.Time
	State      State
	// FirstBlock is the first block that it counts for: its window's first, or a later one if a
	// cancel came before it.
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
	// Withheld says that it follows an order that is not on the chain. Its signer may then learn
	// only whether it could be included, and only for past blocks.
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
	// High says that its simulations come first.
	High               bool
	AllTime, Week, Day UserSums
	// Orders is how many were accepted; FailedOrders, how many of them can never be included.
	Orders, FailedOrders uint64
}

// UserSums are sums over a period.
type UserSums struct {
	// ValueWei is what its landed orders paid to fee recipients; GasSimulated is the gas that
	// simulating its orders used.
	ValueWei     *uint256.Int
	GasSimulated uint64
}
