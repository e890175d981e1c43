package lifecycle

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// leaderFailed is all that the signer of an order learns of a failure of the one that it follows:
// the execution's words may have its sender in them.
const leaderFailed = "the order that it follows cannot be included now"

// keepOwnPart is what a simulation found of the order's own. Of an order that follows another one
// it is that which its own transactions did: their gas, what they earned less the refund, and their
// own failure. No failure of it lasts: that it ends before its blocks do would tell its signer how
// it did.
func keepOwnPart(order *rpc.Order, found rpc.Simulation, seen *exec.BundleResult) rpc.Simulation {
	if order.Follows == 0 {
		return found
	}
	own := ownTransactions(order)
	found.GasUsed, found.Lasting = 0, false
	for _, tx := range seen.Txs {
		if slices.Contains(own, tx.Hash) {
			found.GasUsed += tx.GasUsed
		}
	}
	if found.Success {
		found.ProfitWei = afterRefunds(found.RefundableWei, order.Bundle.Refunds)
		return found
	}
	found.ProfitWei, found.RefundableWei = new(uint256.Int), new(uint256.Int)
	ran := slices.ContainsFunc(seen.Txs, func(tx exec.TxResult) bool { return slices.Contains(own, tx.Hash) })
	if !ran && !slices.Contains(own, seen.FailedTx) { // if that lasts the other one ends, and this one with it
		found.Error = leaderFailed
	}
	return found
}

// ownTransactions are those of an order without those of the one that it follows, which is its
// first element.
func ownTransactions(order *rpc.Order) []common.Hash {
	var own []common.Hash
	for _, e := range order.Bundle.Elements[1:] {
		rest := rpc.Bundle{Elements: []rpc.Element{e}}
		for tx := range rest.Transactions() {
			own = append(own, tx.Hash)
		}
	}
	return own
}

// afterRefunds is what remains of what refunds are counted from.
func afterRefunds(refundableWei *uint256.Int, refunds []rpc.ElementRefund) *uint256.Int {
	left := new(uint256.Int).Set(refundableWei)
	for _, refund := range refunds {
		// at most all
		part, _ := new(uint256.Int).MulDivOverflow(refundableWei, uint256.NewInt(uint64(refund.Percent)), uint256.NewInt(100))
		left.Sub(left, part)
	}
	return left
}
