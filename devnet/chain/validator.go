package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// ValidatorOptions bound what validation may use.
type ValidatorOptions struct {
	// Concurrency is how many blocks are executed at once; the others wait. 0 is one for each
	// processor.
	Concurrency int
	// CachedBlobs is how many verified blobs are remembered; 0 is 512.
	CachedBlobs int
}

// Validator implements exec.Validator.
type Validator struct {
	chain        *core.BlockChain
	slots        chan struct{} // holds one token for each block that is being executed
	blobs        *verifiedBlobs
	transactions *knownTransactions
}

var _ exec.Validator = (*Validator)(nil)

// NewValidator returns a validator on a chain. The caller keeps the chain and stops it.
func NewValidator(bc *core.BlockChain, options ValidatorOptions) *Validator {
	concurrency, cached := options.Concurrency, options.CachedBlobs
	if concurrency <= 0 {
		concurrency = runtime.GOMAXPROCS(0)
	}
	if cached <= 0 {
		cached = 512
	}
	return &Validator{chain: bc, slots: make(chan struct{}, concurrency), blobs: newVerifiedBlobs(cached),
		transactions: newKnownTransactions()}
}

// Validate implements exec.Validator.
func (v *Validator) Validate(ctx context.Context, b *exec.Block) exec.Verdict {
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return interrupted(ctx)
	}
	paid, wrong := v.validate(ctx, b)
	if wrong != nil {
		return *wrong
	}
	return exec.Verdict{Class: exec.Valid, PaidWei: paid}
}

// validate applies the rules in their order. Blob proofs are verified while the block is executed.
func (v *Validator) validate(ctx context.Context, b *exec.Block) (*wei, *exec.Verdict) {
	block, err := blockOf(b)
	if err != nil {
		return nil, invalid(exec.RuleBlockHash, err)
	}
	parent := v.chain.GetHeader(block.ParentHash(), block.NumberU64()-1)
	if block.NumberU64() == 0 || parent == nil {
		return nil, unknown(exec.RuleParent, fmt.Errorf("block %#x is not known", block.ParentHash()))
	}
	if wrong := v.checkHeader(b, block, parent); wrong != nil {
		return nil, wrong
	}
	proofs := make(chan error, 1)
	go func() { proofs <- v.blobs.verify(b.Fork, b.Blobs) }()
	paid, wrong := v.execute(ctx, b, block, parent)
	if err := <-proofs; err != nil && wrong == nil {
		return nil, invalid(exec.RuleBlobs, err)
	}
	return paid, wrong
}

// errNoAccessList says that a block of gloas was handed over without what gloas adds to blocks.
var errNoAccessList = errors.New("it comes without an access list")

// blockOf returns the execution layer's block; an error if it does not have the hash that it names.
func blockOf(b *exec.Block) (*types.Block, error) {
	switch {
	case !b.Fork.HasAccessLists():
		return payload.Block(b.Fork, b.Payload, commitmentsOf(b), b.ParentBeaconRoot, b.Requests)
	case b.Gloas == nil:
		return nil, errNoAccessList
	}
	p, requests := payload.JoinGloas(b.Payload, b.Requests, b.Gloas)
	return payload.GloasBlock(p, commitmentsOf(b), b.ParentBeaconRoot, requests)
}

// checkHeader applies the rules that need no execution.
func (v *Validator) checkHeader(b *exec.Block, block *types.Block, parent *types.Header) *exec.Verdict {
	switch fork := v.forkAt(block); {
	case !fork.Known():
		return unknown(exec.RuleUnsupported, fmt.Errorf("time %d is in a fork after gloas", block.Time()))
	case fork != b.Fork: // the engine accepts some of these: a requests hash before prague, a blob's single proof in osaka
		return invalid(exec.RuleHeader, fmt.Errorf("a %s block at time %d, which is in %s", b.Fork, block.Time(), fork))
	}
	if err := v.chain.Engine().VerifyHeader(v.chain, block.Header()); err != nil {
		return invalid(exec.RuleHeader, err)
	}
	target := b.RegisteredGasLimit
	if target == 0 {
		target = unregisteredGasLimit
	}
	if want := eth.ExpectedGasLimit(parent.GasLimit, target); block.GasLimit() != want {
		return invalid(exec.RuleGasLimit, fmt.Errorf("%d, expected %d on a parent with %d for a registered %d",
			block.GasLimit(), want, parent.GasLimit, target))
	}
	switch err := v.chain.Validator().ValidateBody(block); {
	case err == nil, errors.Is(err, core.ErrKnownBlock): // a block that was imported meanwhile is validated like any other
		return nil
	case errors.Is(err, consensus.ErrUnknownAncestor), errors.Is(err, consensus.ErrPrunedAncestor):
		return unknown(exec.RuleMissingState, fmt.Errorf("the state of block %#x is not here: %w", block.ParentHash(), err))
	default:
		return invalid(exec.RuleBody, err)
	}
}

// executionForks say, for each fork, whether its execution fork is active by a chain's own
// schedule.
var executionForks = eth.Column[func(config *params.ChainConfig, number *big.Int, time uint64) bool]{
	eth.Bellatrix: func(*params.ChainConfig, *big.Int, uint64) bool { return true },
	eth.Capella:   (*params.ChainConfig).IsShanghai,
	eth.Deneb:     (*params.ChainConfig).IsCancun,
	eth.Electra:   (*params.ChainConfig).IsPrague,
	eth.Fulu:      (*params.ChainConfig).IsOsaka,
	eth.Gloas:     (*params.ChainConfig).IsAmsterdam,
}

// forkAt is the fork of a block's time by the chain's own schedule; 0 if exec.Block has no form for
// that fork.
func (v *Validator) forkAt(block *types.Block) (active eth.Fork) {
	config, number, time := v.chain.Config(), block.Number(), block.Time()
	if config.IsBogota(number, time) {
		return 0
	}
	for _, fork := range eth.KnownForks() {
		if reached := executionForks[fork]; reached != nil && reached(config, number, time) {
			active = fork
		}
	}
	return active
}

// unregisteredGasLimit stands for a registered limit of 0.
const unregisteredGasLimit = 30_000_000

// execute runs the block on its parent's state, compares the results with what the header claims,
// and checks the payment.
func (v *Validator) execute(ctx context.Context, b *exec.Block, block *types.Block,
	parent *types.Header) (*wei, *exec.Verdict) {
	block = v.transactions.recover(types.MakeSigner(v.chain.Config(), block.Number(), block.Time()), block)
	st, err := v.stateOf(parent, block)
	if err != nil {
		return nil, unknown(exec.RuleMissingState, err)
	}
	if ctx.Err() != nil {
		return nil, ptr(interrupted(ctx))
	}
	before := st.GetBalance(recipientOf(b)).Clone()
	result, err := v.chain.Processor().Process(ctx, block, st, v.chain.JumpDestCache(), v.chain.PrecompileCache(),
		vm.Config{}, nil)
	switch {
	case ctx.Err() != nil:
		return nil, ptr(interrupted(ctx))
	case st.Error() != nil: // the state was pruned during the execution, so the result means nothing
		return nil, unknown(exec.RuleMissingState, st.Error())
	case err != nil:
		return nil, invalid(exec.RuleExecution, err)
	}
	if err := v.chain.Validator().ValidateState(block, st, result, false); err != nil {
		if st.Error() != nil {
			return nil, unknown(exec.RuleMissingState, st.Error())
		}
		return nil, invalid(exec.RuleState, err)
	}
	paid, err := payment(b, block, result.Receipts, before, st.GetBalance(recipientOf(b)))
	if err != nil {
		short := invalid(exec.RulePayment, err)
		short.PaidWei = paid
		return nil, short
	}
	return paid, nil
}

func (v *Validator) stateOf(parent *types.Header, block *types.Block) (*state.StateDB, error) {
	st, err := v.chain.StateAtForkBoundary(parent, block.Header())
	if err != nil {
		return nil, fmt.Errorf("the state of block %#x is not here: %w", parent.Hash(), err)
	}
	return st, nil
}

func commitmentsOf(b *exec.Block) []deneb.KZGCommitment {
	if b.Blobs == nil {
		return nil
	}
	return b.Blobs.Commitments
}

func invalid(rule exec.Rule, err error) *exec.Verdict {
	return &exec.Verdict{Class: exec.Invalid, Rule: rule, Detail: err.Error()}
}

func unknown(rule exec.Rule, err error) *exec.Verdict {
	return &exec.Verdict{Class: exec.Infrastructure, Rule: rule, Detail: err.Error()}
}

func interrupted(ctx context.Context) exec.Verdict {
	return exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleInterrupted, Detail: context.Cause(ctx).Error()}
}

func ptr[T any](v T) *T { return &v }
