package client

import (
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Event is a hint: what the sender of an order shares of it. Fields that are not shared are nil.
type Event struct {
	// ID is the event's id in the stream; 0 if the service does not send ids, and in the history.
	ID uint64 `json:"-"`
	// Hash is the Keccak-256 of the transaction's or bundle's hash; a backrun names its target by it.
	Hash common.Hash `json:"hash"`
	Logs []Log       `json:"logs"`
	Txs  []Tx        `json:"txs"`
	// MevGasPrice is in wei per gas. MevGasPrice and GasUsed are rounded up.
	MevGasPrice *hexutil.Big    `json:"mevGasPrice"`
	GasUsed     *hexutil.Uint64 `json:"gasUsed"`
	// Raw is the event's JSON as it came.
	Raw json.RawMessage `json:"-"`
}

// Log is a log that the order emits, as far as it is shared.
type Log struct {
	Address common.Address `json:"address"`
	Topics  []common.Hash  `json:"topics"`
	Data    hexutil.Bytes  `json:"data"`
}

// Tx is what is shared of a transaction.
type Tx struct {
	Hash                 *common.Hash      `json:"hash"`
	To                   *common.Address   `json:"to"`
	FunctionSelector     hexutil.Bytes     `json:"functionSelector"`
	CallData             *hexutil.Bytes    `json:"callData"`
	From                 *common.Address   `json:"from"`
	Value                *hexutil.Big      `json:"value"`
	GasPrice             *hexutil.Big      `json:"gasPrice"`
	MaxFeePerGas         *hexutil.Big      `json:"maxFeePerGas"`
	MaxPriorityFeePerGas *hexutil.Big      `json:"maxPriorityFeePerGas"`
	Nonce                *hexutil.Uint64   `json:"nonce"`
	ChainID              *hexutil.Big      `json:"chainId"`
	AccessList           *types.AccessList `json:"accessList"`
	Gas                  *hexutil.Uint64   `json:"gas"`
	Type                 *hexutil.Uint64   `json:"type"`
}

// decodeEvent reads the JSON of an event.
func decodeEvent(raw []byte) (Event, error) {
	var event Event
	if err := json.Unmarshal(raw, &event); err != nil {
		return Event{Raw: raw}, fmt.Errorf("decode event: %w", err)
	}
	event.Raw = raw
	return event, nil
}
