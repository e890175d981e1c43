package chain

import (
	"math/big"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// S29: a builder that keeps its blobs to itself sells a block that nobody can publish, though all
// commitments are there and no proof is wrong.
func TestWithheldBlobs(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Deneb, eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			n := opened(t, fork)
			b := build(t, n, goodArgs(t, n, fork))
			b.Blobs.Blobs, b.Blobs.Proofs = nil, nil
			verdict := New(n.Chain(), Options{}).Validate(t.Context(), b)
			if verdict.Class != exec.Invalid || verdict.Rule != exec.RuleBlobs {
				t.Errorf("%+v", verdict)
			}
		})
	}
}

// S21: a registered limit of 0 means 30 million. On a parent that has just that, the limit stays,
// where a wish for 0 would lower it.
func TestUnregisteredGasLimit(t *testing.T) {
	cfg := configOf(eth.Fulu)
	cfg.GasLimit = 30_000_000
	n := openedWith(t, cfg)
	v := New(n.Chain(), Options{})
	for target, rule := range map[uint64]exec.Rule{30_000_000: "", 0: exec.RuleGasLimit} {
		args := goodArgs(t, n, eth.Fulu)
		args.GasLimitTarget = target
		b := build(t, n, args)
		b.RegisteredGasLimit = 0
		if verdict := v.Validate(t.Context(), b); verdict.Rule != rule {
			t.Errorf("built for %d, limit %d: %+v", target, b.Payload.GasLimit, verdict)
		}
	}
}

// S26: the last transaction counts only if it succeeded, and only if it pays the fee recipient.
func TestLastPaymentThatDoesNotArrive(t *testing.T) {
	for name, row := range map[string]struct {
		to   common.Address
		code []byte // of the fee recipient
	}{
		"goes elsewhere": {to: common.Address{0xee}},
		"is refused":     {to: addressOf(userKey), code: []byte{0x5f, 0x5f, 0xfd}}, // revert(0, 0)
	} {
		t.Run(name, func(t *testing.T) {
			n := opened(t, eth.Fulu)
			recipient := addressOf(userKey)
			args := goodArgs(t, n, eth.Fulu)
			args.Payment, args.Transactions = nil, []*types.Transaction{transfer(t, 0)}
			if row.code != nil {
				recipient = refusing(t, &args.Transactions, row.code)
				row.to = recipient
			}
			args.Transactions = append(args.Transactions, sign(t, builderKey, &types.DynamicFeeTx{
				ChainID: big.NewInt(chainID), GasTipCap: new(big.Int), GasFeeCap: big.NewInt(875_000_000), Gas: 30_000, To: &row.to,
				Value: big.NewInt(1000),
			}))
			b := build(t, n, args)
			if len(b.Payload.Transactions) != len(args.Transactions) {
				t.Fatalf("the block has %d transactions, want %d", len(b.Payload.Transactions), len(args.Transactions))
			}
			b.FeeRecipient, b.ValueWei = bellatrix.ExecutionAddress(recipient), uint256.NewInt(1000)
			verdict := New(n.Chain(), Options{}).Validate(t.Context(), b)
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
	*txs = append(*txs, sign(t, userKey, &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(100_000_000_000),
		Gas: 200_000, Data: create,
	}))
	return crypto.CreateAddress(addressOf(userKey), nonce)
}
