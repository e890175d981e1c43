package simulate

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Reasons not to include a transaction for which go-ethereum has no error.
var (
	errBlobGasLimit = errors.New("blob gas limit reached")
	errValueTooHigh = errors.New("value higher than 2^256-1")
)

// apply executes a transaction. A transaction that may be dropped leaves no trace if it cannot be
// included, or if it fails without being allowed to; its result says Dropped. The error says why a
// transaction that may not be dropped cannot be included, or that the run is stopped.
func (b *block) apply(tx *exec.Tx) (*exec.TxResult, error) {
	hash, coinbase := tx.Hash(), b.header.Coinbase
	before := *b.DB.GetBalance(coinbase)
	snapshot, gas := b.DB.Snapshot(), b.gas.Snapshot()
	b.DB.SetTxContext(hash, b.applied, uint32(b.applied+1))
	did, tip, err := b.execute(tx)
	if b.isStopped() {
		return nil, errStopped
	}
	out := err != nil || did.Failed() && !tx.CanRevert && tx.CanDrop
	if out {
		b.DB.RevertToSnapshot(snapshot)
		b.gas.Set(gas)
	}
	switch {
	case out && tx.CanDrop:
		return describeDropped(tx), nil
	case err != nil:
		return nil, err
	}
	b.DB.Finalise(b.evm.GetRules())
	b.applied++
	b.blobGas -= min(b.blobGas, tx.BlobGas())
	result := &exec.TxResult{
		Hash: hash, From: tx.From, To: tx.To(), GasUsed: did.UsedGas, BlobGasUsed: tx.BlobGas(), Err: did.Err,
		Return: did.ReturnData,
		Logs:   b.DB.GetLogs(hash, b.header.Number.Uint64(), common.Hash{}, b.header.Time),
	}
	fillPaid(result, tip, &before, b.DB.GetBalance(coinbase))
	return result, nil
}

// execute runs a transaction as in a block, and returns what it pays the coinbase per gas.
func (b *block) execute(tx *exec.Tx) (*core.ExecutionResult, *wei, error) {
	switch {
	case tx.Gas() > b.maxTxGas:
		return nil, nil, fmt.Errorf("%w: a transaction may ask for %d, not %d", core.ErrGasLimitReached, b.maxTxGas, tx.Gas())
	case tx.BlobGas() > b.blobGas:
		return nil, nil, fmt.Errorf("%w: have %d, want %d", errBlobGasLimit, b.blobGas, tx.BlobGas())
	}
	msg, err := message(tx, b.header.BaseFee)
	if err != nil {
		return nil, nil, err
	}
	if tx.Unsigned {
		msg.SkipNonceCheck().SkipEOACheck()
		b.evm.Config.NoBaseFee = true // has an effect for a message without fees only
		defer func() { b.evm.Config.NoBaseFee = false }()
	}
	did, err := core.ApplyMessage(b.evm, msg, b.gas)
	if err != nil {
		return nil, nil, err
	}
	tip := msg.GasPrice
	if b.evm.GetRules().IsLondon && !tip.IsZero() {
		tip = new(wei).Sub(msg.GasPrice, uint256.MustFromBig(b.header.BaseFee))
	}
	return did, tip, nil
}

// message converts a transaction for the execution. It takes the sender from tx, because recovering
// it again would cost more than executing many transactions.
func message(tx *exec.Tx, baseFeeWei *big.Int) (*core.Message, error) {
	feeCap, overflow := uint256.FromBig(tx.GasFeeCap())
	if overflow {
		return nil, fmt.Errorf("%w: address %v", core.ErrFeeCapVeryHigh, tx.From.Hex())
	}
	tipCap, overflow := uint256.FromBig(tx.GasTipCap())
	if overflow {
		return nil, fmt.Errorf("%w: address %v", core.ErrTipVeryHigh, tx.From.Hex())
	}
	value, overflow := uint256.FromBig(tx.Value())
	if overflow {
		return nil, fmt.Errorf("%w: address %v", errValueTooHigh, tx.From.Hex())
	}
	blobFeeCap, overflow := uint256.FromBig(tx.BlobGasFeeCap()) // nil for a transaction without blobs
	if overflow {
		return nil, fmt.Errorf("%w: address %v", core.ErrFeeCapVeryHigh, tx.From.Hex())
	}
	price := feeCap
	if wanted, over := new(wei).AddOverflow(uint256.MustFromBig(baseFeeWei), tipCap); !over && wanted.Lt(feeCap) {
		price = wanted
	}
	return &core.Message{
		From: tx.From, To: tx.To(), Nonce: tx.Nonce(), Value: value, Data: tx.Data(), AccessList: tx.AccessList(),
		GasLimit: tx.Gas(), GasPrice: price, GasFeeCap: feeCap, GasTipCap: tipCap,
		BlobGasFeeCap: blobFeeCap, BlobHashes: tx.BlobHashes(), SetCodeAuthorizations: tx.SetCodeAuthorizations(),
	}, nil
}

// fillPaid fills in what the coinbase got. Amounts are never negative. A transaction that leaves
// the coinbase poorer, because the coinbase sent it or was made to pay, has paid 0. If the coinbase
// gained less than the fees, the fees count as what it gained.
func fillPaid(result *exec.TxResult, tip, before, after *wei) {
	diff := new(wei)
	if after.Gt(before) {
		diff.Sub(after, before)
	}
	gasUsed := uint256.NewInt(result.GasUsed)
	fees := new(wei).Mul(tip, gasUsed)
	if fees.Gt(diff) {
		fees.Set(diff)
	}
	result.CoinbaseDiffWei, result.GasFeesWei, result.ToCoinbaseWei = diff, fees, new(wei).Sub(diff, fees)
	result.GasPriceWei = new(wei).Div(diff, gasUsed)
}

// describeDropped returns the result of a transaction that was left out.
func describeDropped(tx *exec.Tx) *exec.TxResult {
	return &exec.TxResult{
		Hash: tx.Hash(), From: tx.From, To: tx.To(), Dropped: true,
		GasPriceWei: new(wei), GasFeesWei: new(wei), ToCoinbaseWei: new(wei), CoinbaseDiffWei: new(wei),
	}
}

// forGood are the errors whose reason is the transaction itself.
var forGood = []error{
	core.ErrNonceMax, core.ErrTipAboveFeeCap, core.ErrTipVeryHigh, core.ErrFeeCapVeryHigh, core.ErrGasUintOverflow,
	core.ErrIntrinsicGas,
	core.ErrFloorDataGas, core.ErrGasLimitTooHigh, core.ErrMissingBlobHashes, core.ErrTooManyBlobs, core.ErrBlobTxCreate,
	core.ErrEmptyAuthList,
	core.ErrSetCodeTxCreate, vm.ErrMaxInitCodeSizeExceeded, errValueTooHigh,
}

// lasting says that no later block can include the transaction either. A nonce that was used before
// the bundle stays used. A nonce that the bundle itself used may be free next time, if the
// transaction before is dropped then.
func (b *block) lasting(tx *exec.Tx, cause error) bool {
	if errors.Is(cause, core.ErrNonceTooLow) {
		account, err := b.DB.Reader().Account(tx.From)
		return err == nil && account != nil && account.Nonce > tx.Nonce()
	}
	for _, reason := range forGood {
		if errors.Is(cause, reason) {
			return true
		}
	}
	return false
}

// liftLimits lifts the block's limits, for a list of transactions that may fill more than one
// block.
func (b *block) liftLimits() {
	b.gas, b.blobGas = core.NewGasPool(^uint64(0)), ^uint64(0)
}
