package chain_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

func TestValidatorKeepsTheContract(t *testing.T) {
	chaintest.Contract(t, func(_ *testing.T, n *chain.Node) exec.Validator {
		return chain.NewValidator(n.Chain(), chain.ValidatorOptions{})
	})
}

// REL-SUB-16: a fee recipient that spends more than it is paid is satisfied by an exact last
// payment, and by nothing else.
func TestLastPayment(t *testing.T) {
	for name, row := range map[string]struct {
		tip, value int64
		data       []byte
		behind     bool // another transaction follows
		valid      bool
	}{
		"exact":             {value: 1000, valid: true},
		"tip of 1 wei":      {value: 1000, tip: 1},
		"a byte of data":    {value: 1000, data: []byte{0}},
		"1 wei too much":    {value: 1001},
		"second to last":    {value: 1000, behind: true},
		"half of the value": {value: 500},
	} {
		t.Run(name, func(t *testing.T) {
			n := chaintest.Open(t, eth.Fulu)
			spender := chaintest.AddressOf(chaintest.UserKey) // the fee recipient spends in the same block
			args := chaintest.GoodArgs(t, n, eth.Fulu)
			baseFee := new(big.Int).SetInt64(875_000_000) // on an empty genesis
			pay := chaintest.Sign(t, chaintest.BuilderKey, &types.DynamicFeeTx{
				ChainID: big.NewInt(chaintest.ChainID), GasTipCap: big.NewInt(row.tip), GasFeeCap: new(big.Int).Add(baseFee,
					big.NewInt(row.tip)),
				Gas: 30_000, To: &spender, Value: big.NewInt(row.value), Data: row.data,
			})
			args.Payment, args.Transactions = nil, []*types.Transaction{chaintest.Transfer(t, 0), pay}
			if row.behind {
				args.Transactions = append(args.Transactions, chaintest.Transfer(t, 1))
			}
			b := chaintest.Build(t, n, args)
			if len(b.Payload.Transactions) != len(args.Transactions) {
				t.Fatalf("the block has %d transactions, want %d (base fee %s)", len(b.Payload.Transactions),
					len(args.Transactions), b.Payload.BaseFeePerGas.Dec())
			}
			b.FeeRecipient, b.ValueWei = bellatrix.ExecutionAddress(spender), uint256.NewInt(1000)
			verdict := chain.NewValidator(n.Chain(), chain.ValidatorOptions{}).Validate(t.Context(), b)
			if (verdict.Class == exec.Valid) != row.valid {
				t.Errorf("%+v", verdict)
			}
		})
	}
}

func TestInterruptedValidationSpeaksForNobody(t *testing.T) {
	n := chaintest.Open(t, eth.Fulu)
	v := chain.NewValidator(n.Chain(), chain.ValidatorOptions{Concurrency: 1})
	b := chaintest.Build(t, n, chaintest.GoodArgs(t, n, eth.Fulu))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	release := v.TakePlace() // the only one
	if verdict := v.Validate(ctx, b); verdict.Class != exec.Infrastructure || verdict.Rule != exec.RuleInterrupted {
		t.Errorf("waiting: %+v", verdict)
	}
	release()
	if wrong := v.ValidateNow(ctx, b); wrong == nil || wrong.Class != exec.Infrastructure ||
		wrong.Rule != exec.RuleInterrupted {
		t.Errorf("executing: %+v", wrong)
	}
}

// Builders, validators and an importer share one chain.
func TestConcurrentUse(t *testing.T) {
	n := chaintest.Open(t, eth.Fulu)
	v := chain.NewValidator(n.Chain(), chain.ValidatorOptions{})
	args := chaintest.GoodArgs(t, n, eth.Fulu)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			own := args
			own.ExtraData = fmt.Append(nil, "builder ", i)
			b := chaintest.Build(t, n, own)
			if verdict := v.Validate(t.Context(), b); verdict.Class != exec.Valid {
				t.Errorf("%+v", verdict)
			}
			if err := n.Import(t.Context(), b.Fork, b.Payload, b.Blobs.Commitments, b.ParentBeaconRoot, b.Requests); err != nil {
				t.Error(err)
			}
			if verdict := v.Validate(t.Context(), b); verdict.Class != exec.Valid { // imported meanwhile
				t.Errorf("%+v", verdict)
			}
		})
	}
	group.Wait()
}

func TestDetailsNameWhatWasSeen(t *testing.T) {
	n := chaintest.Open(t, eth.Fulu)
	b := chaintest.Build(t, n, chaintest.GoodArgs(t, n, eth.Fulu))
	b.ValueWei = new(uint256.Int).AddUint64(b.ValueWei, 1)
	verdict := chain.NewValidator(n.Chain(), chain.ValidatorOptions{}).Validate(t.Context(), b)
	if !strings.Contains(verdict.Detail, b.ValueWei.Dec()) {
		t.Errorf("%q does not name the promised value %s", verdict.Detail, b.ValueWei.Dec())
	}
}
