package exec

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Tx is a transaction to simulate, and what is known of it already.
type Tx struct {
	*types.Transaction
	// From is its sender, recovered before.
	From common.Address
	// CanRevert: it may fail in execution, and stays then. CanDrop: it may be left out, if it fails or
	// cannot be included.
	CanRevert, CanDrop bool
	// Unsigned: nobody has signed it, so that neither its nonce nor its fees are looked at.
	Unsigned bool
}

// Environment is the block that a simulation pretends to be in. What is zero or nil follows from
// the parent.
type Environment struct {
	// Parent is the block whose state the simulation begins with: a hash; or if that is zero a number;
	// or if Latest, the newest block.
	ParentHash   common.Hash
	ParentNumber uint64
	Latest       bool
	// Number: the parent's and one.
	Number uint64
	// Timestamp, in seconds: the parent's and 12.
	Timestamp uint64
	// Coinbase: the parent's.
	Coinbase *common.Address
	// GasLimit: the parent's.
	GasLimit uint64
	// BaseFeeWei: what follows from the parent (EIP-1559).
	BaseFeeWei *uint256.Int
	// ParentBaseFee: without BaseFeeWei the base fee is the parent's own.
	ParentBaseFee bool
	// ExcessBlobGas: what follows from the parent.
	ExcessBlobGas *uint64
	// Difficulty is what the opcode of that name answers in blocks before the merge, and PREVRANDAO
	// after it: the parent's.
	Difficulty *uint256.Int
	// Timeout bounds the execution: 5 s. It holds inside a transaction too.
	Timeout time.Duration
}

// TxResult is what a transaction of a bundle did.
type TxResult struct {
	Hash common.Hash
	From common.Address
	To   *common.Address // nil for a creation
	// GasPriceWei is CoinbaseDiffWei per gas used. GasFeesWei is what the priority fees paid,
	// ToCoinbaseWei what came beside them; together they are CoinbaseDiffWei.
	GasUsed, BlobGasUsed                                    uint64
	GasPriceWei, GasFeesWei, ToCoinbaseWei, CoinbaseDiffWei *uint256.Int
	// Err says why execution failed ("execution reverted"); nil for success. Return is what it
	// returned or reverted with.
	Err    error
	Return []byte
	Logs   []*types.Log
	// Dropped: it was left out, and nothing of the above happened.
	Dropped bool
}

// CallResult is what a list of transactions did (eth_callBundle).
type CallResult struct {
	// Parent is the block whose state it began with.
	Parent  *types.Header
	Results []TxResult
	// GasUsed and the others are sums.
	GasUsed                                    uint64
	GasFeesWei, ToCoinbaseWei, CoinbaseDiffWei *uint256.Int
}

// Bundle is a tree of transactions with the terms of its refunds (mev_simBundle).
type Bundle struct {
	Elements []Element
	// Refunds give percentages of what the other elements earn to those whose element it is.
	Refunds []Refund
	// PaidBy are the elements whose earnings Refunds are counted from, if it is not all that have no
	// refund.
	PaidBy []int
	// Recipients are how many addresses share a refund for this bundle; 0 counts as one, the first
	// transaction's sender.
	Recipients int
}

// Element is a transaction or a bundle.
type Element struct {
	Tx     *Tx
	Bundle *Bundle
}

// Refund is for the owner of an element.
type Refund struct {
	Element int
	Percent int
}

// BundleResult is what a bundle did. Without success the numbers are what was counted until then.
type BundleResult struct {
	Parent  *types.Header
	Success bool
	// Error is why there was no success: "tx failed", "negative profit", or the execution's own words
	// ("nonce too low: …"). Lasting: no later block changes that.
	Error   string
	Lasting bool
	// FailedTx is the transaction that could not be included, or failed without being allowed to; zero
	// when the reason is none of them.
	FailedTx common.Hash
	// ExecErr and Revert are of the last transaction that failed in execution; it may have been
	// allowed to.
	ExecErr error
	Revert  []byte
	// GasUsed counts payouts of refunds too.
	GasUsed                                  uint64
	ProfitWei, RefundableWei, MevGasPriceWei *uint256.Int
	// Txs are all transactions, depth first.
	Txs []TxResult
	// Logs mirror the elements.
	Logs []ElementLogs
}

// ElementLogs are the logs of a transaction or of a bundle's elements.
type ElementLogs struct {
	Tx     []*types.Log
	Bundle []ElementLogs
}

// Simulator runs bundles on the state of a block, which it never changes. It is safe for concurrent
// use.
type Simulator interface {
	// Call runs transactions one after another. One that fails in execution is a result; one that
	// could not be included is an *InclusionError.
	Call(ctx context.Context, txs []Tx, env Environment) (*CallResult, error)
	// Simulate runs a bundle and counts what it earns. A bundle that cannot be included is a result
	// without success.
	Simulate(ctx context.Context, bundle *Bundle, env Environment) (*BundleResult, error)
}

// Errors of simulations.
var (
	ErrUnknownBlock = errors.New("header not found")            // the parent is not known, or its state is gone
	ErrTimeout      = errors.New("execution aborted (timeout)") // Environment.Timeout is over
	ErrNode         = errors.New("execution node unavailable")  // nobody answers where the state is
)

// InclusionError says which transaction could not be included.
type InclusionError struct {
	Tx    common.Hash
	Cause error // the execution's: core.ErrNonceTooLow, …
}

// Error is the execution's own text.
func (e *InclusionError) Error() string { return e.Cause.Error() }

// Unwrap is the cause.
func (e *InclusionError) Unwrap() error { return e.Cause }

// Landing is what the transactions of a block of the chain really did.
type Landing struct {
	Block *types.Block
	// Txs are all its transactions in order.
	Txs []TxResult
}

// Chain is the chain that orders are for.
type Chain interface {
	// Head is its newest block.
	Head(ctx context.Context) (*types.Header, error)
	// Block is a block by its hash, of the chain or not; ErrUnknownBlock if there is none.
	Block(ctx context.Context, hash common.Hash) (*types.Block, error)
	// Follow hands over every block of the chain after the one with a hash, parents first, until the
	// context ends (nil) or handle fails (its error). The zero hash is the newest block. When the
	// chain is reorganised it hands over the blocks of the new branch, which begin at a number that
	// was handed over before.
	Follow(ctx context.Context, after common.Hash, handle func(*types.Block) error) error
}

// Replayer executes blocks of the chain again, to tell what each transaction paid.
type Replayer interface {
	Replay(ctx context.Context, block *types.Block) (*Landing, error)
}
