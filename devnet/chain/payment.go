package chain

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// wei is an amount of money.
type wei = uint256.Int

func recipientOf(b *exec.Block) common.Address { return common.Address(b.FeeRecipient) }

// payment returns what the fee recipient was paid (REL-SUB-16). The payment is enough if the
// recipient's balance rose by the promised value, withdrawals not counted. A recipient may also
// have spent something in the block; so it is enough, too, if the last transaction is a plain
// payment of exactly the value. With an error, the result is how much the balance rose.
func payment(b *exec.Block, block *types.Block, receipts types.Receipts, before, after *wei) (*wei, error) {
	expected := before.Clone()
	for _, w := range block.Withdrawals() {
		if w.Address == recipientOf(b) {
			expected.Add(expected, eth.WeiOf(phase0.Gwei(w.Amount)))
		}
	}
	gain := new(wei)
	if after.Gt(expected) {
		gain.Sub(after, expected)
	}
	if !gain.Lt(b.ValueWei) {
		return gain, nil
	}
	if err := lastPayment(b, block, receipts); err != nil {
		return gain, fmt.Errorf("the fee recipient gained %s wei of %s, and %w", gain.Dec(), b.ValueWei.Dec(), err)
	}
	return b.ValueWei.Clone(), nil
}

// lastPayment checks that the last transaction paid the promised value: successfully, to the fee
// recipient, without data and without a tip.
func lastPayment(b *exec.Block, block *types.Block, receipts types.Receipts) error {
	if len(receipts) == 0 {
		return errors.New("there is no transaction")
	}
	tx, receipt := block.Transactions()[len(receipts)-1], receipts[len(receipts)-1]
	tip, err := tx.EffectiveGasTip(block.BaseFee())
	switch {
	case receipt.Status != types.ReceiptStatusSuccessful:
		return errors.New("the last transaction failed")
	case tx.To() == nil || *tx.To() != recipientOf(b):
		return errors.New("the last transaction goes elsewhere")
	case tx.Value().Cmp(b.ValueWei.ToBig()) != 0:
		return fmt.Errorf("the last transaction pays %s wei", tx.Value())
	case len(tx.Data()) != 0:
		return errors.New("the last transaction carries data")
	case err != nil || tip.Sign() != 0:
		return errors.New("the last transaction gives a tip")
	}
	return nil
}
