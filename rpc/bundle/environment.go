package bundle

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
)

// blockParams are the fields that eth_callBundle and mev_simBundle both have, under different
// names, for the block to simulate.
type blockParams struct {
	// parent is the block whose state is used; if it is not set, the newest.
	parent                      Block
	number, timestamp, gasLimit Number
	coinbase                    *Address
	baseFee                     BigNumber
}

// environment is the block in the simulator's form. What the request leaves out is derived from the
// parent.
func (p blockParams) environment() exec.Environment {
	return exec.Environment{
		ParentHash: p.parent.Hash, ParentNumber: p.parent.Number, Latest: p.parent.Latest || !p.parent.Set,
		Number: p.number.Value, Timestamp: p.timestamp.Value, Coinbase: (*common.Address)(p.coinbase),
		GasLimit: p.gasLimit.Value, BaseFeeWei: p.baseFee.Value,
	}
}

// milliseconds is a duration of ms, but at most most.
func milliseconds(ms uint64, most time.Duration) time.Duration {
	if ms >= uint64(most.Milliseconds()) {
		return most
	}
	return time.Duration(ms) * time.Millisecond
}
