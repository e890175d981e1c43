package exec

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Tx is a transaction to simulate, with its sender and what it is allowed to do.
type Tx struct {
	*types.Transaction
	// From is the sender, which the caller has recovered.
	From common.Address
	// CanRevert: it may fail in execution, and stays in the bundle then. CanDrop: it may be left
	// out if it fails or cannot be included.
	CanRevert, CanDrop bool
	// Unsigned: it has no signature. Its nonce is not checked, and it may offer no fees.
	Unsigned bool
}

// Environment describes the block in which the transactions are simulated. Fields that are zero or
// nil follow from the parent, as their comments say.
type Environment struct {
	// The parent is the block on whose state the simulation begins: the one with ParentHash; if
	// that is zero, the newest block if Latest is set, and else the block ParentNumber.
	ParentHash   common.Hash
	ParentNumber uint64
	Latest       bool
	// Number: the parent's plus 1.
	Number uint64
	// Timestamp, in seconds since 1970: the parent's plus 12.
	Timestamp uint64
	// Coinbase: the parent's.
	Coinbase *common.Address
	// GasLimit: the parent's.
	GasLimit uint64
	// BaseFeeWei: computed from the parent (EIP-1559).
	BaseFeeWei *uint256.Int
	// ParentBaseFee: without BaseFeeWei the base fee is the parent's own.
	ParentBaseFee bool
	// ExcessBlobGas: computed from the parent.
	ExcessBlobGas *uint64
	// Difficulty is the answer of the opcode 0x44 (DIFFICULTY before the merge, PREVRANDAO after
	// it): the parent's.
	Difficulty *uint256.Int
	// Timeout bounds the execution, also inside a transaction: the simulator's, usually 5 s.
	Timeout time.Duration
}

// TxResult is what a transaction of a bundle did.
type TxResult struct {
	Hash common.Hash
	From common.Address
	To   *common.Address // nil for a creation
	// CoinbaseDiffWei is what the coinbase gained: GasFeesWei, the priority fees, plus
	// ToCoinbaseWei, other payments. GasPriceWei is CoinbaseDiffWei divided by GasUsed.
	GasUsed, BlobGasUsed                                    uint64
	GasPriceWei, GasFeesWei, ToCoinbaseWei, CoinbaseDiffWei *uint256.Int
	// Err says why execution failed ("execution reverted"); nil for success. Return is what it
	// returned or reverted with.
	Err    error
	Return []byte
	Logs   []*types.Log
	// Dropped: the transaction was left out, so it used and paid nothing.
	Dropped bool
}

// CallResult is what a list of transactions did (eth_callBundle).
type CallResult struct {
	// Parent is the block on whose state it began.
	Parent  *types.Header
	Results []TxResult
	// GasUsed and the amounts are sums over Results.
	GasUsed                                    uint64
	GasFeesWei, ToCoinbaseWei, CoinbaseDiffWei *uint256.Int
}

// Bundle is a tree of transactions with the terms of its refunds (mev_simBundle).
type Bundle struct {
	Elements []Element
	// Refunds give the owners of elements a percentage of what the other elements earn.
	Refunds []Refund
	// PaidBy are the indexes of the elements whose earnings Refunds are counted from; nil means all
	// elements without a refund.
	PaidBy []int
	// Recipients is how many addresses share a refund for this bundle. 0 counts as one: the sender
	// of the first transaction.
	Recipients int
}

// Element is a transaction or a bundle.
type Element struct {
	Tx     *Tx
	Bundle *Bundle
}

// Refund is a percentage for the owner of the element with that index.
type Refund struct {
	Element int
	Percent int
}

// BundleResult is what a bundle did. Without success the numbers are those counted up to the
// failure.
type BundleResult struct {
	Parent  *types.Header
	Success bool
	// Error is why there was no success: "tx failed", "negative profit", "invalid bundle", "max
	// depth reached", or the EVM's own error ("nonce too low: …"). Lasting: the bundle will fail in
	// every later block, too.
	Error   string
	Lasting bool
	// FailedTx is the transaction that could not be included, or that failed without being allowed
	// to; zero if the reason is another one.
	FailedTx common.Hash
	// ExecErr and Revert are those of the last transaction that failed in execution, also if it was
	// allowed to fail.
	ExecErr error
	Revert  []byte
	// GasUsed includes the gas of refunds' payouts.
	GasUsed                                  uint64
	ProfitWei, RefundableWei, MevGasPriceWei *uint256.Int
	// Txs are all transactions, depth first.
	Txs []TxResult
	// Logs has one entry for each element.
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
	// Call runs transactions one after another. A transaction that fails in execution has a result;
	// one that cannot be included ends the call with an *InclusionError.
	Call(ctx context.Context, txs []Tx, env Environment) (*CallResult, error)
	// Simulate runs a bundle and counts what it earns. For a bundle that cannot be included it
	// returns a result without success.
	Simulate(ctx context.Context, bundle *Bundle, env Environment) (*BundleResult, error)
}

// Errors of simulations.
var (
	ErrUnknownBlock = errors.New("header not found")            // the parent is not known, or its state is gone
	ErrTimeout      = errors.New("execution aborted (timeout)") // Environment.Timeout is over
	ErrNode         = errors.New("execution node unavailable")  // no node that has the state answers
)

// InclusionError says which transaction could not be included.
type InclusionError struct {
	Tx    common.Hash
	Cause error // the EVM's error: core.ErrNonceTooLow, …
}

// Error is the cause's text.
func (e *InclusionError) Error() string { return e.Cause.Error() }

// Unwrap is the cause.
func (e *InclusionError) Unwrap() error { return e.Cause }

// Landing is what the transactions of a block of the chain did.
type Landing struct {
	Block *types.Block
	// Txs are all its transactions in order.
	Txs []TxResult
}

// Chain is the chain whose blocks the orders wait for.
type Chain interface {
	// Head is the header of the newest block.
	Head(ctx context.Context) (*types.Header, error)
	// Block is a block by its hash, of the chain or not; ErrUnknownBlock if there is none.
	Block(ctx context.Context, hash common.Hash) (*types.Block, error)
	// Follow calls handle with every block of the chain after the one with a hash, parents first.
	// It returns nil when the context ends, and handle's error if handle fails. The zero hash
	// stands for the newest block. After a reorganisation it hands over the blocks of the new
	// branch, which begin at a number that was handed over before.
	Follow(ctx context.Context, after common.Hash, handle func(*types.Block) error) error
}

// Replayer executes blocks of the chain again, to find what each transaction paid.
type Replayer interface {
	Replay(ctx context.Context, block *types.Block) (*Landing, error)
}
