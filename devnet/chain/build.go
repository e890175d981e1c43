package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// ErrUnprofitable says that the coinbase gains less than the payment itself costs.
var ErrUnprofitable = errors.New("the block earns less than its payment costs")

// maxBlockBytes is what a block may take in RLP from osaka on (EIP-7934), less room for the header and the payment.
const maxBlockBytes = params.MaxBlockSize - 4096

// paymentGas is what a transfer without data costs. Payees are plain accounts.
const paymentGas = params.TxGas

// build is a block being made: go-ethereum's own steps in go-ethereum's order.
type build struct {
	chain    *core.BlockChain
	header   *types.Header
	state    *state.StateDB
	evm      *vm.EVM
	gas      *core.GasPool
	txs      []*types.Transaction
	receipts []*types.Receipt
	sidecars []*types.BlobTxSidecar
	blobs    int
	bytes    uint64
	left     int
}

// Build executes transactions on a parent and returns the finished block; it is imported nowhere. Any known parent will do, and any number of
// builds may run at once.
func (n *Node) Build(ctx context.Context, args BuildArgs) (*Built, error) {
	b, err := n.begin(ctx, args)
	if err != nil {
		return nil, fmt.Errorf("build block for slot %d: %w", args.Slot, err)
	}
	before := b.state.GetBalance(args.Coinbase).Clone()
	for _, tx := range args.Transactions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !b.fits(tx, args.Payment != nil) || b.apply(ctx, tx) != nil {
			b.left++
		}
	}
	gain := new(uint256.Int)
	if after := b.state.GetBalance(args.Coinbase); after.Gt(before) {
		gain.Sub(after, before)
	}
	paid := new(uint256.Int)
	if args.Payment != nil {
		if paid, err = b.pay(ctx, args.Payment, gain); err != nil {
			return nil, fmt.Errorf("build block for slot %d: %w", args.Slot, err)
		}
	}
	built, err := b.finish(ctx, n.cfg.Spec.ForkAt(args.Slot), args)
	if err != nil {
		return nil, fmt.Errorf("build block for slot %d: %w", args.Slot, err)
	}
	built.CoinbaseGainWei, built.PaidWei, built.Left = gain, paid, b.left
	return built, nil
}

// begin makes the header and runs what comes before the first transaction.
func (n *Node) begin(ctx context.Context, args BuildArgs) (*build, error) {
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
		Number: new(big.Int).Add(parent.Number, common.Big1), GasLimit: eth.ExpectedGasLimit(parent.GasLimit, args.GasLimitTarget),
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
	st, err := bc.StateAtForkBoundary(parent, header)
	if err != nil {
		return nil, fmt.Errorf("open the parent's state: %w", err)
	}
	evm := vm.NewEVM(core.NewEVMBlockContext(header, bc, &header.Coinbase), st, bc.Config(), vm.Config{})
	evm.SetJumpDestCache(bc.JumpDestCache())
	evm.SetPrecompileCache(bc.PrecompileCache())
	core.PreExecution(ctx, header.ParentBeaconRoot, parent, bc.Config(), evm, header.Number, header.Time)
	return &build{chain: bc, header: header, state: st, evm: evm, gas: core.NewGasPool(header.GasLimit)}, nil
}

// fits says whether there is room for a transaction, and for the payment after it.
func (b *build) fits(tx *types.Transaction, payment bool) bool {
	room := b.gas.Available(false)
	if payment {
		room -= min(room, paymentGas)
	}
	size := tx.Size()
	if sidecar := tx.BlobTxSidecar(); sidecar != nil {
		if sidecar.Version != b.sidecarVersion() || b.blobs+len(sidecar.Blobs) > eip4844.MaxBlobsPerBlock(b.chain.Config(), b.header.Time) {
			return false
		}
		size = tx.WithoutBlobTxSidecar().Size()
	} else if tx.Type() == types.BlobTxType {
		return false // without its blobs nobody could publish the block
	}
	return tx.Gas() <= room && b.bytes+size <= maxBlockBytes
}

// sidecarVersion is the form of proofs that the block's blobs must have: from osaka on a proof for each cell (EIP-7594).
func (b *build) sidecarVersion() byte {
	if b.chain.Config().IsOsaka(b.header.Number, b.header.Time) {
		return types.BlobSidecarVersion1
	}
	return types.BlobSidecarVersion0
}

// apply executes a transaction; one that cannot be applied leaves no trace.
func (b *build) apply(ctx context.Context, tx *types.Transaction) error {
	snapshot, gas := b.state.Snapshot(), b.gas.Snapshot()
	b.state.SetTxContext(tx.Hash(), len(b.txs), uint32(len(b.txs)+1))
	receipt, _, err := core.ApplyTransaction(ctx, b.evm, b.gas, b.state, b.header, tx)
	if err != nil {
		b.state.RevertToSnapshot(snapshot)
		b.gas.Set(gas)
		return err
	}
	if sidecar := tx.BlobTxSidecar(); sidecar != nil {
		b.sidecars = append(b.sidecars, sidecar)
		b.blobs += len(sidecar.Blobs)
		*b.header.BlobGasUsed += receipt.BlobGasUsed
		tx = tx.WithoutBlobTxSidecar()
	}
	b.txs, b.receipts = append(b.txs, tx), append(b.receipts, receipt)
	b.bytes += tx.Size()
	return nil
}

// pay appends the payment and returns its value. Its price is exactly the base fee, so that no tip goes back to the coinbase (S26).
func (b *build) pay(ctx context.Context, p *Payment, gain *uint256.Int) (*uint256.Int, error) {
	value := p.ValueWei
	if p.Share != nil {
		value = p.Share(gain)
	}
	if value == nil {
		cost, _ := uint256.FromBig(new(big.Int).Mul(new(big.Int).SetUint64(paymentGas), b.header.BaseFee))
		if !gain.Gt(cost) {
			return nil, ErrUnprofitable
		}
		value = new(uint256.Int).Sub(gain, cost)
	}
	from := addressOf(p.From)
	tx, err := types.SignNewTx(p.From, types.MakeSigner(b.chain.Config(), b.header.Number, b.header.Time), &types.DynamicFeeTx{
		ChainID: b.chain.Config().ChainID, Nonce: b.state.GetNonce(from), GasTipCap: new(big.Int), GasFeeCap: b.header.BaseFee,
		Gas: paymentGas, To: &p.To, Value: value.ToBig(),
	})
	if err != nil {
		return nil, fmt.Errorf("sign payment: %w", err)
	}
	if err := b.apply(ctx, tx); err != nil {
		return nil, fmt.Errorf("apply payment: %w", err)
	}
	return value, nil
}

// finish runs what comes after the last transaction and gives the block its roots and its hash.
func (b *build) finish(ctx context.Context, fork eth.Fork, args BuildArgs) (*Built, error) {
	config := b.chain.Config()
	b.header.GasUsed = b.gas.Used()
	body := &types.Body{Transactions: b.txs}
	if fork >= eth.Capella {
		body.Withdrawals = executionWithdrawals(args.Withdrawals)
	}
	var logs []*types.Log
	for _, receipt := range b.receipts {
		logs = append(logs, receipt.Logs...)
	}
	items, _, err := core.PostExecution(ctx, config, b.header.Number, b.header.Time, logs, body.Withdrawals, b.evm, uint32(len(b.txs)+1))
	if err != nil {
		return nil, err
	}
	if items != nil {
		hash := types.CalcRequestsHash(items)
		b.header.RequestsHash = &hash
	}
	b.chain.Engine().Finalize(b.chain, b.header, b.state, body)
	block := core.AssembleBlock(b.chain, b.header, b.state, body, b.receipts, nil)

	built := &Built{Fork: fork, Block: block}
	if built.Payload, err = payload.FromEngine(engine.BlockToExecutableData(block, new(big.Int), nil, items).ExecutionPayload); err != nil {
		return nil, err
	}
	if fork >= eth.Deneb {
		built.Blobs = bundleOf(b.sidecars)
	}
	if fork >= eth.Electra {
		if built.Requests, err = payload.DecodeRequests(items); err != nil {
			return nil, err
		}
	}
	return built, nil
}

func executionWithdrawals(list []*capella.Withdrawal) types.Withdrawals {
	out := make(types.Withdrawals, len(list))
	for i, w := range list {
		out[i] = &types.Withdrawal{
			Index: uint64(w.Index), Validator: uint64(w.ValidatorIndex), Address: common.Address(w.Address), Amount: uint64(w.Amount),
		}
	}
	return out
}

// Hash is the block's execution hash.
func (b *Built) Hash() phase0.Hash32 { return b.Payload.BlockHash }
