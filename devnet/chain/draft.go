package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// ErrNoRoom says that a transaction does not fit into the rest of the block.
var ErrNoRoom = errors.New("there is no room for it in the block")

// Draft is an unfinished block. It is made by go-ethereum's own functions, in the order in which
// go-ethereum calls them. It is for one goroutine.
type Draft struct {
	chain    *core.BlockChain
	fork     eth.Fork
	args     BuildArgs
	header   *types.Header
	state    *state.StateDB
	evm      *vm.EVM
	gas      *core.GasPool
	txs      []*types.Transaction
	has      map[common.Hash]bool
	receipts []*types.Receipt
	sidecars []*types.BlobTxSidecar
	blobs    int
	bytes    uint64
	before   *uint256.Int // the coinbase's balance before the first transaction
	// accesses is the block's access list so far, of what is in the block and of nothing else; nil
	// before amsterdam.
	accesses *bal.ConstructionBlockAccessList
}

// Outcome is the effect of a transaction.
type Outcome struct {
	Succeeded bool // it was not reverted
	GasUsed   uint64
	// PaidWei is by how much it increased the coinbase's balance; zero if it decreased it.
	PaidWei *uint256.Int
}

// Draft begins a block. It ignores the arguments' Transactions, which the caller applies; Finish
// appends their Payment.
func (n *Node) Draft(ctx context.Context, args BuildArgs) (*Draft, error) {
	d, err := n.begin(ctx, args)
	if err != nil {
		return nil, fmt.Errorf("build block for slot %d: %w", args.Slot, err)
	}
	return d, nil
}

// Fork returns a second draft that continues from here. Changes of one do not affect the other.
func (d *Draft) Fork() *Draft {
	other := *d
	other.header, other.state, other.gas = types.CopyHeader(d.header), d.state.Copy(), d.gas.Snapshot()
	other.txs, other.receipts, other.sidecars = d.txs[:len(d.txs):len(d.txs)],
		d.receipts[:len(d.receipts):len(d.receipts)],
		d.sidecars[:len(d.sidecars):len(d.sidecars)]
	other.has = maps.Clone(d.has)
	if d.accesses != nil {
		other.accesses = d.accesses.Copy()
	}
	other.evm = newEVM(other.chain, other.header, other.state)
	return &other
}

// Number is the block's number.
func (d *Draft) Number() uint64 { return d.header.Number.Uint64() }

// Timestamp is the block's time in seconds.
func (d *Draft) Timestamp() uint64 { return d.header.Time }

// BaseFeeWei is the block's base fee, for each unit of gas.
func (d *Draft) BaseFeeWei() *uint256.Int { return uint256.MustFromBig(d.header.BaseFee) }

// Has says whether a transaction is in the block.
func (d *Draft) Has(hash common.Hash) bool { return d.has[hash] }

// GainWei returns what the coinbase has gained by the block's transactions so far; zero if it has
// lost.
func (d *Draft) GainWei() *uint256.Int { return gain(d.before, d.state.GetBalance(d.args.Coinbase)) }

// Apply executes a transaction. If the arguments have a payment, it leaves enough gas for it. A
// transaction that cannot be applied changes nothing.
func (d *Draft) Apply(ctx context.Context, tx *types.Transaction) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	if !d.fits(tx, d.args.Payment != nil) {
		return Outcome{}, ErrNoRoom
	}
	return d.apply(ctx, tx)
}

// Transfer appends a transfer from an account whose key the builder has. It pays the base fee only,
// so that no tip goes back to the coinbase.
func (d *Draft) Transfer(ctx context.Context, p Payment, gas uint64) (Outcome, error) {
	tx, err := d.transfer(p.From, p.To, p.ValueWei, gas)
	if err != nil {
		return Outcome{}, err
	}
	return d.Apply(ctx, tx)
}

// Finish appends the payment of the arguments, if they have one, and computes the block's roots and
// hash. The draft must not be used afterwards.
func (d *Draft) Finish(ctx context.Context) (*Built, error) {
	gain, paid := d.GainWei(), new(uint256.Int)
	var err error
	if d.args.Payment != nil {
		if paid, err = d.pay(ctx, d.args.Payment, gain); err != nil {
			return nil, fmt.Errorf("build block for slot %d: %w", d.args.Slot, err)
		}
	}
	built, err := d.finish(ctx)
	if err != nil {
		return nil, fmt.Errorf("build block for slot %d: %w", d.args.Slot, err)
	}
	built.CoinbaseGainWei, built.PaidWei = gain, paid
	return built, nil
}

// begin makes the header and runs what comes before the first transaction.
func (n *Node) begin(ctx context.Context, args BuildArgs) (*Draft, error) {
	if len(args.ExtraData) > int(params.MaximumExtraDataSize) {
		return nil, fmt.Errorf("%d bytes of extra data, at most %d", len(args.ExtraData), params.MaximumExtraDataSize)
	}
	bc := n.Chain()
	parent := bc.GetHeaderByHash(common.Hash(args.Parent))
	if parent == nil {
		return nil, fmt.Errorf("unknown parent %#x", args.Parent[:])
	}
	header := &types.Header{
		ParentHash: parent.Hash(), UncleHash: types.EmptyUncleHash, Coinbase: args.Coinbase, Difficulty: new(big.Int),
		Number: new(big.Int).Add(parent.Number, common.Big1), GasLimit: eth.ExpectedGasLimit(parent.GasLimit,
			args.GasLimitTarget),
		Time: n.cfg.Spec.Timestamp(args.Slot), Extra: args.ExtraData, MixDigest: args.PrevRandao,
		BaseFee: eip1559.CalcBaseFee(bc.Config(), parent),
	}
	if header.Time <= parent.Time {
		return nil, fmt.Errorf("its time %d is not after its parent's %d", header.Time, parent.Time)
	}
	if bc.Config().IsCancun(header.Number, header.Time) {
		var excess uint64
		if bc.Config().IsCancun(parent.Number, parent.Time) {
			excess = eip4844.CalcExcessBlobGas(bc.Config(), parent, header.Time)
		}
		root := common.Hash(args.ParentBeaconRoot)
		header.ExcessBlobGas, header.BlobGasUsed, header.ParentBeaconRoot = &excess, new(uint64), &root
	}
	if bc.Config().IsAmsterdam(header.Number, header.Time) {
		slot := uint64(args.Slot)
		header.SlotNumber = &slot
	}
	st, err := bc.StateAtForkBoundary(parent, header)
	if err != nil {
		return nil, fmt.Errorf("open the parent's state: %w", err)
	}
	evm := newEVM(bc, header, st)
	accesses := core.PreExecution(ctx, header.ParentBeaconRoot, parent, bc.Config(), evm, header.Number, header.Time)
	return &Draft{
		chain: bc, fork: n.cfg.Spec.ForkAt(args.Slot), args: args, header: header, state: st, evm: evm,
		gas: core.NewGasPool(header.GasLimit),
		has: map[common.Hash]bool{}, before: st.GetBalance(args.Coinbase).Clone(),
		accesses: accesses,
	}, nil
}

func newEVM(bc *core.BlockChain, header *types.Header, st *state.StateDB) *vm.EVM {
	evm := vm.NewEVM(core.NewEVMBlockContext(header, bc, &header.Coinbase), st, bc.Config(), vm.Config{})
	evm.SetJumpDestCache(bc.JumpDestCache())
	evm.SetPrecompileCache(bc.PrecompileCache())
	return evm
}

func gain(before, after *uint256.Int) *uint256.Int {
	if after.Gt(before) {
		return new(uint256.Int).Sub(after, before)
	}
	return new(uint256.Int)
}

// fits says whether there are gas and bytes left for a transaction, and gas for the payment after
// it.
func (d *Draft) fits(tx *types.Transaction, payment bool) bool {
	room := d.gas.Available(d.amsterdam())
	if payment {
		room -= min(room, d.paymentGas(d.args.Payment.To))
	}
	size := tx.Size()
	if sidecar := tx.BlobTxSidecar(); sidecar != nil {
		if sidecar.Version != d.sidecarVersion() || d.blobs+len(sidecar.Blobs) > eip4844.MaxBlobsPerBlock(d.chain.Config(),
			d.header.Time) {
			return false
		}
		size = tx.WithoutBlobTxSidecar().Size()
	} else if tx.Type() == types.BlobTxType {
		return false // without its blobs nobody could publish the block
	}
	return tx.Gas() <= room && d.bytes+size <= maxBlockBytes
}

// amsterdam says whether the block is in the fork of the execution layer that goes with gloas.
func (d *Draft) amsterdam() bool { return d.chain.Config().IsAmsterdam(d.header.Number, d.header.Time) }

// sidecarVersion returns the form of proofs that the block's blobs must have: from osaka on one
// proof for each cell (EIP-7594).
func (d *Draft) sidecarVersion() byte {
	if d.chain.Config().IsOsaka(d.header.Number, d.header.Time) {
		return types.BlobSidecarVersion1
	}
	return types.BlobSidecarVersion0
}

// apply executes a transaction; one that cannot be applied changes nothing.
func (d *Draft) apply(ctx context.Context, tx *types.Transaction) (Outcome, error) {
	balance := d.state.GetBalance(d.args.Coinbase).Clone()
	snapshot, gas := d.state.Snapshot(), d.gas.Snapshot()
	d.state.SetTxContext(tx.Hash(), len(d.txs), uint32(len(d.txs)+1))
	receipt, accesses, err := core.ApplyTransaction(ctx, d.evm, d.gas, d.state, d.header, tx)
	if err != nil {
		d.state.RevertToSnapshot(snapshot)
		d.gas.Set(gas)
		return Outcome{}, err
	}
	if d.accesses != nil {
		d.accesses.Merge(accesses)
	}
	d.has[tx.Hash()] = true
	if sidecar := tx.BlobTxSidecar(); sidecar != nil {
		d.sidecars = append(d.sidecars, sidecar)
		d.blobs += len(sidecar.Blobs)
		*d.header.BlobGasUsed += receipt.BlobGasUsed
		tx = tx.WithoutBlobTxSidecar()
	}
	d.txs, d.receipts = append(d.txs, tx), append(d.receipts, receipt)
	d.bytes += tx.Size()
	return Outcome{
		Succeeded: receipt.Status == types.ReceiptStatusSuccessful, GasUsed: receipt.GasUsed,
		PaidWei: gain(balance, d.state.GetBalance(d.args.Coinbase)),
	}, nil
}
