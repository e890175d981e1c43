// Package orderflow has the facts by which the bundle RPC passes orders to the event stream: one
// for each order whose sender shares something, when it has been simulated. A fact has the whole
// order, and what its sender allows to show. Only the stream decides what of it is
// published.
//
//	rpc ──Shared, a fact in the journal──▶ stream.ProjectHints ──▶ history ──▶ listeners
//
// The two services may run as separate processes; these types are all that they share. They are
// JSON in the journal: a field may be added, but never renamed.
package orderflow

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

// SharedSubject is the journal's subject of a Shared.
const SharedSubject = "rpc.order_shared"

// Hints is the set of things that searchers may see of a transaction or bundle. The zero set shows
// nothing.
type Hints uint16

// The hints (interface description, "Hints"). Every other hint includes Hash.
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

// Shared is an order whose sender shares something of it. It is recorded when the order first
// succeeded in a simulation.
type Shared struct {
	At time.Time `json:"at"`
	// Hash is the transaction's or the bundle's. Searchers see its MatchingHash instead.
	Hash common.Hash `json:"hash"`
	// Block is the number of the newest block at that time.
	Block  uint64 `json:"block"`
	Bundle Bundle `json:"bundle"`
	// GasUsed and MevGasPriceWei are the simulation's numbers, not rounded. MevGasPriceWei is what
	// the order pays the fee recipient per unit of gas.
	GasUsed        uint64       `json:"gas_used"`
	MevGasPriceWei *uint256.Int `json:"mev_gas_price"`
}

// Bundle has its elements and what its sender allows to show of them. An inner bundle has its own
// Hints, and inherits none.
type Bundle struct {
	Hints    Hints     `json:"hints,omitempty"`
	Elements []Element `json:"elements"`
}

// Element is a transaction or a bundle: exactly one of them is set.
type Element struct {
	Tx     *Tx     `json:"tx,omitempty"`
	Bundle *Bundle `json:"bundle,omitempty"`
}

// Tx is a transaction and its logs in the simulation.
type Tx struct {
	// Raw is the signed transaction in its binary form, without a blob sidecar.
	Raw  hexutil.Bytes  `json:"raw"`
	Hash common.Hash    `json:"hash"`
	From common.Address `json:"from"`
	Logs []Log          `json:"logs,omitempty"`
}

// Log is a log that a contract emitted.
type Log struct {
	Address common.Address `json:"address"`
	Topics  []common.Hash  `json:"topics"`
	Data    hexutil.Bytes  `json:"data"`
}
