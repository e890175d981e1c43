package relay

import (
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// executionWithdrawals converts withdrawals to the execution layer's type.
func executionWithdrawals(list []*capella.Withdrawal) []*types.Withdrawal {
	out := make([]*types.Withdrawal, len(list))
	for i, w := range list {
		out[i] = &types.Withdrawal{
			Index: uint64(w.Index), Validator: uint64(w.ValidatorIndex), Address: common.Address(w.Address),
			Amount: uint64(w.Amount),
		}
	}
	return out
}
