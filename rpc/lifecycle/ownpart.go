package lifecycle

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// leaderFailed is all that an order's signer learns if the order that it follows fails: the text of
// the execution's error may contain that order's sender.
const leaderFailed = "the order that it follows cannot be included now"

// keepOwnPart reduces a simulation to what is the order's own. For an order that follows another
// one, that is what its own transactions did: their gas, what they earned less the refund, and
// their own failure. None of its failures counts as lasting: if it ended before its blocks do, its
// signer would learn how it did.
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
	// if the leader's failure lasts, the leader ends, and this order with it
	if !ran && !slices.Contains(own, seen.FailedTx) {
		found.Error = leaderFailed
	}
	return found
}

// ownTransactions are an order's transactions without those of the order that it follows, which is
// the first element.
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

// afterRefunds is what remains of the refundable amount after the refunds.
func afterRefunds(refundableWei *uint256.Int, refunds []rpc.ElementRefund) *uint256.Int {
	left := new(uint256.Int).Set(refundableWei)
	for _, refund := range refunds {
		// Never more than the whole amount, so it does not overflow.
		part, _ := new(uint256.Int).MulDivOverflow(refundableWei, uint256.NewInt(uint64(refund.Percent)), uint256.NewInt(100))
		left.Sub(left, part)
	}
	return left
}
