package chain_test

import (
	"math/big"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// A block with number 0 has no parent. A node is not asked about it: the relay's own rules refuse
// it.
func TestBlockWithNumberZero(t *testing.T) {
	n := chaintest.Open(t, eth.Fulu)
	b := chaintest.Build(t, n, chaintest.GoodArgs(t, n, eth.Fulu))
	b.Payload.BlockNumber = 0
	chaintest.Rehash(t, b)
	verdict := chain.NewValidator(n.Chain(), chain.ValidatorOptions{}).Validate(t.Context(), b)
	if verdict.Class != exec.Infrastructure || verdict.Rule != exec.RuleParent {
		t.Errorf("%+v", verdict)
	}
}

// A block that is said to be of the fork before, by the same hash, has the wrong header for it.
func TestBlockCalledByAnotherFork(t *testing.T) {
	n := chaintest.Open(t, eth.Fulu)
	b := chaintest.Build(t, n, chaintest.GoodArgs(t, n, eth.Fulu))
	b.Fork = eth.Electra
	verdict := chain.NewValidator(n.Chain(), chain.ValidatorOptions{}).Validate(t.Context(), b)
	if verdict.Class != exec.Invalid || verdict.Rule != exec.RuleHeader {
		t.Errorf("%+v", verdict)
	}
}

// REL-SUB-19: the gas limit moves towards the registered one by as much as one step allows, and by
// nothing else. A registered limit of 0 means 30 million.
func TestGasLimitSteps(t *testing.T) {
	for _, step := range []struct{ parent, registered, passes uint64 }{
		{30_000_000, 60_000_000, 30_029_295},
		{60_000_000, 30_000_000, 59_941_408},
		{45_000_000, 60_000_000, 45_000_000 + 43_944},
		{36_000_000, 36_000_000, 36_000_000},
		{30_000_000, 0, 30_000_000},
	} {
		cfg := chaintest.ConfigOf(eth.Fulu)
		cfg.GasLimit = step.parent
		n := chaintest.OpenWith(t, cfg)
		v := chain.NewValidator(n.Chain(), chain.ValidatorOptions{})
		args := chaintest.GoodArgs(t, n, eth.Fulu)
		args.GasLimitTarget = step.passes
		for _, limit := range []uint64{step.passes, step.passes - 1, step.passes + 1} {
			b := chaintest.Build(t, n, args)
			if b.Payload.GasLimit != step.passes {
				t.Fatalf("the block's limit is %d, want %d", b.Payload.GasLimit, step.passes)
			}
			b.RegisteredGasLimit, b.Payload.GasLimit = step.registered, limit
			chaintest.Rehash(t, b)
			// Beyond one step the header itself is invalid.
			if verdict := v.Validate(t.Context(), b); (verdict.Class == exec.Valid) != (limit == step.passes) ||
				verdict.Class != exec.Valid && verdict.Rule != exec.RuleGasLimit && verdict.Rule != exec.RuleHeader {
				t.Errorf("from %d towards %d, limit %d: %+v", step.parent, step.registered, limit, verdict)
			}
		}
	}
}

// REL-SUB-16: the last transaction counts only if it succeeded, and only if it pays the fee
// recipient.
func TestLastPaymentThatDoesNotArrive(t *testing.T) {
	for name, row := range map[string]struct {
		to   common.Address
		code []byte // of the fee recipient
	}{
		"goes elsewhere": {to: common.Address{0xee}},
		"is refused":     {to: chaintest.AddressOf(chaintest.UserKey), code: []byte{0x5f, 0x5f, 0xfd}}, // revert(0, 0)
	} {
		t.Run(name, func(t *testing.T) {
			n := chaintest.Open(t, eth.Fulu)
			recipient := chaintest.AddressOf(chaintest.UserKey)
			args := chaintest.GoodArgs(t, n, eth.Fulu)
			args.Payment, args.Transactions = nil, []*types.Transaction{chaintest.Transfer(t, 0)}
			if row.code != nil {
				recipient = refusing(t, &args.Transactions, row.code)
				row.to = recipient
			}
			args.Transactions = append(args.Transactions, chaintest.Sign(t, chaintest.BuilderKey, &types.DynamicFeeTx{
				ChainID: big.NewInt(chaintest.ChainID), GasTipCap: new(big.Int), GasFeeCap: big.NewInt(875_000_000),
				Gas: 30_000, To: &row.to,
				Value: big.NewInt(1000),
			}))
			b := chaintest.Build(t, n, args)
			if len(b.Payload.Transactions) != len(args.Transactions) {
				t.Fatalf("the block has %d transactions, want %d", len(b.Payload.Transactions), len(args.Transactions))
			}
			b.FeeRecipient, b.ValueWei = bellatrix.ExecutionAddress(recipient), uint256.NewInt(1000)
			verdict := chain.NewValidator(n.Chain(), chain.ValidatorOptions{}).Validate(t.Context(), b)
			if verdict.Class != exec.Invalid || verdict.Rule != exec.RulePayment {
				t.Errorf("%+v", verdict)
			}
		})
	}
}

// refusing adds a transaction that creates a contract with the given code of at most 32 bytes, and
// returns the contract's address.
func refusing(t testing.TB, txs *[]*types.Transaction, code []byte) common.Address {
	t.Helper()
	nonce := uint64(len(*txs))
	size := byte(len(code))
	create := append([]byte{0x60 + size - 1}, code...)                   // push the code
	create = append(create, 0x5f, 0x52, 0x60, size, 0x60, 32-size, 0xf3) // mstore(0, code), return(32-size, size)
	*txs = append(*txs, chaintest.Sign(t, chaintest.UserKey, &types.DynamicFeeTx{
		ChainID: big.NewInt(chaintest.ChainID), Nonce: nonce, GasTipCap: big.NewInt(1),
		GasFeeCap: big.NewInt(100_000_000_000),
		Gas:       200_000, Data: create,
	}))
	return crypto.CreateAddress(chaintest.AddressOf(chaintest.UserKey), nonce)
}
