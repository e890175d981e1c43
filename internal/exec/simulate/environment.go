package simulate

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/exec"
)

// slotSeconds is the assumed time between a block and its parent.
const slotSeconds = 12

// maxExcessBlobGas caps the excess from which the blob fee is computed, because requests and nodes
// may name any number. The fee grows exponentially with the excess: it is beyond all ether long
// before the cap, and far above it the computation would not end.
const maxExcessBlobGas = 1 << 32

// pretend is the header of the block that an environment describes on a parent. It has only the
// fields that the execution needs.
func pretend(config *params.ChainConfig, parent *types.Header, env exec.Environment) *types.Header {
	header := &types.Header{
		Number: new(big.Int).Add(parent.Number, common.Big1), Time: parent.Time + slotSeconds, Coinbase: parent.Coinbase,
		GasLimit:   parent.GasLimit,
		Difficulty: new(big.Int), MixDigest: parent.MixDigest, BaseFee: nextBaseFee(config, parent),
	}
	if parent.Difficulty != nil {
		header.Difficulty.Set(parent.Difficulty)
	}
	if env.Number != 0 {
		header.Number.SetUint64(env.Number)
	}
	if env.Timestamp != 0 {
		header.Time = env.Timestamp
	}
	if env.Coinbase != nil {
		header.Coinbase = *env.Coinbase
	}
	if env.GasLimit != 0 {
		header.GasLimit = env.GasLimit
	}
	if env.ParentBaseFee && parent.BaseFee != nil {
		header.BaseFee.Set(parent.BaseFee)
	}
	if env.BaseFeeWei != nil {
		header.BaseFee = env.BaseFeeWei.ToBig()
	}
	if env.Difficulty != nil {
		setDifficulty(header, env.Difficulty)
	}
	if config.IsCancun(header.Number, header.Time) {
		header.ExcessBlobGas = new(excessBlobGas(config, parent, header.Time, env.ExcessBlobGas))
	}
	return header
}

// nextBaseFee is the base fee that follows from the parent (EIP-1559).
func nextBaseFee(config *params.ChainConfig, parent *types.Header) *big.Int {
	switch {
	case parent.BaseFee == nil:
		return big.NewInt(params.InitialBaseFee)
	case parent.GasLimit < config.ElasticityMultiplier(): // no chain has such a block, but a node may claim it
		return new(big.Int).Set(parent.BaseFee)
	default:
		return eip1559.CalcBaseFee(config, parent)
	}
}

// setDifficulty sets the answer of the opcode 0x44: PREVRANDAO after the merge, DIFFICULTY before
// it.
func setDifficulty(header *types.Header, difficulty *wei) {
	if header.Difficulty.Sign() == 0 {
		header.MixDigest = difficulty.Bytes32()
		return
	}
	header.Difficulty = difficulty.ToBig()
}

// excessBlobGas is the wanted excess, or what follows from the parent (EIP-4844, EIP-7918).
func excessBlobGas(config *params.ChainConfig, parent *types.Header, time uint64, asked *uint64) uint64 {
	switch {
	case asked != nil:
		return *asked
	case parent.ExcessBlobGas != nil && *parent.ExcessBlobGas > maxExcessBlobGas:
		// CalcExcessBlobGas computes the parent's fee, which would not end
		return *parent.ExcessBlobGas
	case eip4844.MaxBlobsPerBlock(config, time) == 0, parent.ExcessBlobGas != nil &&
		(parent.BlobGasUsed == nil || parent.BaseFee == nil):
		return 0 // a schedule without blobs, or a header without fields that every chain has
	default:
		return eip4844.CalcExcessBlobGas(config, parent, time)
	}
}

// block is a block in which transactions are executed: a pretended one, or one of the chain that is
// replayed.
type block struct {
	*State
	header  *types.Header
	evm     *vm.EVM
	gas     *core.GasPool
	blobGas uint64 // what is left of it
	// maxTxGas bounds a transaction.
	maxTxGas uint64
	// applied counts transactions that are in the block.
	applied int
}

// begin opens a block on a state and runs the system calls before the first transaction. The parent
// beacon root is known for a block of the chain only. In a pretended block the contract of EIP-4788
// therefore has the roots of earlier blocks only.
func (s *Simulator) begin(ctx context.Context, st *State, header *types.Header) *block {
	parentHash := func() common.Hash { return s.parent.of(st.Parent) }
	b := &block{
		State: st, header: header, evm: vm.NewEVM(blockContext(st, header, parentHash), st.DB, st.Config, vm.Config{}),
		gas: core.NewGasPool(header.GasLimit), blobGas: eip4844.MaxBlobGasPerBlock(st.Config, header.Time),
		maxTxGas: s.maxTxGas,
	}
	b.evm.SetJumpDestCache(s.jumps)
	switch follows := header.Number.Uint64() == st.Parent.Number.Uint64()+1; {
	case !follows: // the block before this number does not exist, so there is no hash for EIP-2935 to keep
	case header.ParentBeaconRoot != nil || st.Config.IsAmsterdam(header.Number, header.Time):
		core.PreExecution(ctx, header.ParentBeaconRoot, st.Parent, st.Config, b.evm, header.Number, header.Time)
	case st.Config.IsPrague(header.Number, header.Time) || st.Config.IsUBT(header.Number, header.Time):
		// the same system call, without hashing the parent again
		core.ProcessParentBlockHash(parentHash(), b.evm, nil)
	}
	return b
}

// blockContext holds what contracts can read of a block.
func blockContext(st *State, header *types.Header, parentHash func() common.Hash) vm.BlockContext {
	c := vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer, GetHash: hashes(st, parentHash), Coinbase: header.Coinbase,
		BlockNumber: new(big.Int).Set(header.Number), Time: header.Time, Difficulty: new(big.Int).Set(header.Difficulty),
		BaseFee: new(big.Int).Set(header.BaseFee), GasLimit: header.GasLimit, CostPerStateByte: params.CostPerStateByte,
	}
	if header.Difficulty.Sign() == 0 {
		c.Random = &header.MixDigest
	}
	if header.ExcessBlobGas != nil {
		c.BlobBaseFee = blobBaseFee(st.Config, header)
	}
	if header.SlotNumber != nil {
		c.SlotNum = *header.SlotNumber
	}
	return c
}

// blobBaseFee is the price of blob gas in a block, in wei (EIP-4844).
func blobBaseFee(config *params.ChainConfig, header *types.Header) *big.Int {
	if eip4844.MaxBlobsPerBlock(config, header.Time) == 0 { // a schedule without blobs
		return big.NewInt(params.BlobTxMinBlobGasprice)
	}
	return eip4844.CalcBlobFee(config,
		&types.Header{Time: header.Time, ExcessBlobGas: new(min(*header.ExcessBlobGas, maxExcessBlobGas))})
}

// hashes answers BLOCKHASH. Numbers between the parent and a pretended block have no blocks, so
// their hash is zero.
func hashes(st *State, parentHash func() common.Hash) func(uint64) common.Hash {
	parent := st.Parent.Number.Uint64()
	return func(number uint64) common.Hash {
		switch {
		case number > parent:
			return common.Hash{}
		case number == parent:
			return parentHash()
		default:
			return st.Hash(number)
		}
	}
}
