package chain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// ErrUnprofitable says that the coinbase gains less than the payment itself costs.
var ErrUnprofitable = errors.New("the block earns less than its payment costs")

// maxBlockBytes is how many bytes of RLP a block may have from osaka on (EIP-7934), less some for
// the header and the payment.
const maxBlockBytes = params.MaxBlockSize - 4096

// TransferGas is the gas limit with which a transfer without data suffices in a fork, also to an
// account that is new: from amsterdam on it pays for the account (EIP-8037).
func TransferGas(fork eth.Fork) uint64 {
	if fork.HasAccessLists() {
		return params.TxGas + params.AccountCreationSize*params.CostPerStateByte
	}
	return params.TxGas
}

// CallGas is the gas limit with which a call suffices in a fork, if SwapGas or BackrunGas does in
// those before: from amsterdam on each new place of storage, of which a call of the market fills up
// to four, costs a multiple (EIP-8037).
func CallGas(fork eth.Fork, before uint64) uint64 {
	if fork.HasAccessLists() {
		return before + 4*params.StorageCreationSize*params.CostPerStateByte
	}
	return before
}

// paymentGas returns the gas of a transfer without data to an account without code.
func (d *Draft) paymentGas(to common.Address) uint64 {
	if d.amsterdam() && d.state.Empty(to) {
		return params.TxGas + params.AccountCreationSize*d.evm.Context.CostPerStateByte
	}
	return params.TxGas
}

// Build executes transactions on a parent and returns the finished block, without importing it. The
// parent can be any known block, and builds may run at the same time.
func (n *Node) Build(ctx context.Context, args BuildArgs) (*Built, error) {
	d, err := n.Draft(ctx, args)
	if err != nil {
		return nil, err
	}
	left := 0
	for _, tx := range args.Transactions {
		if _, err := d.Apply(ctx, tx); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			left++
		}
	}
	built, err := d.Finish(ctx)
	if err != nil {
		return nil, err
	}
	built.Left = left
	return built, nil
}

// pay appends the payment and returns its value.
func (d *Draft) pay(ctx context.Context, p *Payment, gain *uint256.Int) (*uint256.Int, error) {
	value, gas := p.ValueWei, d.paymentGas(p.To)
	if p.Share != nil {
		value = p.Share(gain)
	}
	if value == nil {
		cost, _ := uint256.FromBig(new(big.Int).Mul(new(big.Int).SetUint64(gas), d.header.BaseFee))
		if !gain.Gt(cost) {
			return nil, ErrUnprofitable
		}
		value = new(uint256.Int).Sub(gain, cost)
	}
	tx, err := d.transfer(p.From, p.To, value, gas)
	if err != nil {
		return nil, err
	}
	if _, err := d.apply(ctx, tx); err != nil {
		return nil, fmt.Errorf("apply payment: %w", err)
	}
	return value, nil
}

// transfer signs a transfer from an account that pays the base fee only.
func (d *Draft) transfer(from *ecdsa.PrivateKey, to common.Address, valueWei *uint256.Int,
	gas uint64) (*types.Transaction, error) {
	tx, err := types.SignNewTx(from, types.MakeSigner(d.chain.Config(), d.header.Number, d.header.Time),
		&types.DynamicFeeTx{
			ChainID: d.chain.Config().ChainID, Nonce: d.state.GetNonce(addressOf(from)), GasTipCap: new(big.Int),
			GasFeeCap: d.header.BaseFee,
			Gas:       gas, To: &to, Value: valueWei.ToBig(),
		})
	if err != nil {
		return nil, fmt.Errorf("sign a transfer: %w", err)
	}
	return tx, nil
}

// finish runs what comes after the last transaction, and computes the block's roots and hash.
func (d *Draft) finish(ctx context.Context) (*Built, error) {
	config := d.chain.Config()
	d.header.GasUsed = d.gas.Used()
	body := &types.Body{Transactions: d.txs}
	if d.fork.HasWithdrawals() {
		body.Withdrawals = executionWithdrawals(d.args.Withdrawals)
	}
	var logs []*types.Log
	for _, receipt := range d.receipts {
		logs = append(logs, receipt.Logs...)
	}
	items, accesses, err := core.PostExecution(ctx, config, d.header.Number, d.header.Time, logs, body.Withdrawals, d.evm,
		uint32(len(d.txs)+1))
	if err != nil {
		return nil, err
	}
	if items != nil {
		hash := types.CalcRequestsHash(items)
		d.header.RequestsHash = &hash
	}
	if d.accesses != nil {
		d.accesses.Merge(accesses)
	}
	d.chain.Engine().Finalize(d.chain, d.header, d.state, body)
	return d.built(core.AssembleBlock(d.chain, d.header, d.state, body, d.receipts, d.accesses), items)
}

// built returns the finished block in the consensus layer's types.
func (d *Draft) built(block *types.Block, items [][]byte) (_ *Built, err error) {
	built := &Built{Fork: d.fork, Block: block}
	data := engine.BlockToExecutableData(block, new(big.Int), nil, items).ExecutionPayload
	if d.fork.HasBlobs() {
		built.Blobs = bundleOf(d.sidecars)
	}
	if d.fork.HasAccessLists() {
		p, err := payload.GloasFromEngine(data)
		if err != nil {
			return nil, err
		}
		requests, err := payload.DecodeGloasRequests(items)
		if err != nil {
			return nil, err
		}
		built.Payload, built.Requests, built.Gloas = payload.SplitGloas(p, requests)
		return built, nil
	}
	if built.Payload, err = payload.FromEngine(data); err != nil {
		return nil, err
	}
	if d.fork.HasRequests() {
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
			Index: uint64(w.Index), Validator: uint64(w.ValidatorIndex), Address: common.Address(w.Address),
			Amount: uint64(w.Amount),
		}
	}
	return out
}

// Hash returns the block's execution hash.
func (b *Built) Hash() phase0.Hash32 { return b.Payload.BlockHash }
