// Package orderflow is what the bundle JSON-RPC tells the event stream: of every order whose sender
// shares something, once, when it has been simulated. It is told whole, with what the sender
// allows; what of it leaves the house is decided by the stream alone (stream/hint).
//
//	rpc ──Shared, a fact in the journal──▶ stream/hint.Project ──▶ history ──▶ listeners
//
// The two are separate products that may run as separate processes; these words are all that they
// have in common. They are JSON in the journal: a field may be added, never renamed.
package orderflow

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

// SharedSubject is the journal's subject of a Shared.
const SharedSubject = "rpc.order_shared"

// Hints are a set of what searchers may see. The zero set means that nobody learns of it.
type Hints uint16

// The hints (interface description, "Hints"). Any other one brings Hash with it.
const (
	Hash Hints = 1 << iota
	ContractAddress
	FunctionSelector
	Calldata
	Logs
	DefaultLogs
	TxHash
	Full
)

// Shared is an order whose sender shares something of it, when it first succeeded in a simulation.
type Shared struct {
	At time.Time `json:"at"`
	// Hash is the order's: the transaction's or the bundle's. Searchers get its hash.
	Hash common.Hash `json:"hash"`
	// Block is the number of the newest block then.
	Block  uint64 `json:"block"`
	Bundle Bundle `json:"bundle"`
	// GasUsed and MevGasPriceWei, what it pays the fee recipient for a unit of gas, are the
	// simulation's own numbers, not rounded.
	GasUsed        uint64       `json:"gas_used"`
	MevGasPriceWei *uint256.Int `json:"mev_gas_price"`
}

// Bundle has what its sender allows of its own elements; an inner bundle has its own Hints, and
// inherits none.
type Bundle struct {
	Hints    Hints     `json:"hints,omitempty"`
	Elements []Element `json:"elements"`
}

// Element is a transaction or a bundle: exactly one of them is set.
type Element struct {
	Tx     *Tx     `json:"tx,omitempty"`
	Bundle *Bundle `json:"bundle,omitempty"`
}

// Tx is a transaction and what the simulation found.
type Tx struct {
	// Raw is the signed transaction in its binary form, without a blob sidecar.
	Raw  hexutil.Bytes  `json:"raw"`
	Hash common.Hash    `json:"hash"`
	From common.Address `json:"from"`
	Logs []Log          `json:"logs,omitempty"`
}

// Log is what a contract wrote.
type Log struct {
	Address common.Address `json:"address"`
	Topics  []common.Hash  `json:"topics"`
	Data    hexutil.Bytes  `json:"data"`
}
