package chain_test

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// fullBlock is a block of 1,400 transfers, 30 million gas.
func fullBlock(b *testing.B) (*chain.Validator, *exec.Block, *core.BlockChain) {
	b.Helper()
	n := chaintest.Open(b, eth.Fulu)
	args := chaintest.GoodArgs(b, n, eth.Fulu)
	args.Transactions = nil
	for nonce := range uint64(1400) {
		args.Transactions = append(args.Transactions, chaintest.Transfer(b, nonce))
	}
	return chain.NewValidator(n.Chain(), chain.ValidatorOptions{}), chaintest.Build(b, n, args), n.Chain()
}

// BenchmarkFullBlock compares our validation of a full block with go-ethereum's own processing of
// it, in turn in one run. Both begin with the payload, decode it and recover all senders, ours for
// the first time in each round. The metric x-of-geth is what must stay below 1.3.
func BenchmarkFullBlock(b *testing.B) {
	v, block, bc := fullBlock(b)
	var ours, theirs time.Duration
	for b.Loop() {
		v.ForgetTransactions()
		start := time.Now()
		if verdict := v.Validate(b.Context(), block); verdict.Class != exec.Valid {
			b.Fatalf("%+v", verdict)
		}
		ours += time.Since(start)
		start = time.Now()
		process(b, bc, block)
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x-of-geth")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "ms/validation")
}

// BenchmarkRepeatedBlock is our validation when the transactions have been seen in an earlier bid.
func BenchmarkRepeatedBlock(b *testing.B) {
	v, block, _ := fullBlock(b)
	for b.Loop() {
		if verdict := v.Validate(b.Context(), block); verdict.Class != exec.Valid {
			b.Fatalf("%+v", verdict)
		}
	}
}

// process is what go-ethereum does with a block before it writes it.
func process(b *testing.B, bc *core.BlockChain, block *exec.Block) {
	b.Helper()
	decoded, err := payload.Block(block.Fork, block.Payload, nil, block.ParentBeaconRoot, block.Requests)
	if err != nil {
		b.Fatal(err)
	}
	core.SenderCacher().Recover(types.MakeSigner(bc.Config(), decoded.Number(), decoded.Time()), decoded.Transactions())
	if err := bc.Engine().VerifyHeader(bc, decoded.Header()); err != nil {
		b.Fatal(err)
	}
	if err := bc.Validator().ValidateBody(decoded); err != nil {
		b.Fatal(err)
	}
	st, err := bc.StateAtForkBoundary(bc.GetHeaderByHash(decoded.ParentHash()), decoded.Header())
	if err != nil {
		b.Fatal(err)
	}
	result, err := bc.Processor().Process(b.Context(), decoded, st, bc.JumpDestCache(), bc.PrecompileCache(),
		vm.Config{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := bc.Validator().ValidateState(decoded, st, result, false); err != nil {
		b.Fatal(err)
	}
}
