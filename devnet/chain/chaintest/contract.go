package chaintest

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"slices"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/exec"
)

// row is a block, and what a validator must say of it.
type row struct {
	name  string
	in    func(eth.Fork) bool // which forks have what the row is about
	block func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block
	class exec.Class
	rule  exec.Rule
}

// spoiled is a good block with a change; its hash is as before.
func spoiled(change func(b *exec.Block)) func(*testing.T, *chain.Node, eth.Fork) *exec.Block {
	return func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
		b := Build(t, n, GoodArgs(t, n, fork))
		change(b)
		return b
	}
}

// rehashed is a good block with a change and its right hash: what the block does is wrong.
func rehashed(change func(b *exec.Block)) func(*testing.T, *chain.Node, eth.Fork) *exec.Block {
	return func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
		b := spoiled(change)(t, n, fork)
		Rehash(t, b)
		return b
	}
}

// otherwise is a block that was built of other arguments, with a change after that.
func otherwise(args func(t *testing.T, fork eth.Fork, args *chain.BuildArgs),
	change func(b *exec.Block)) func(*testing.T, *chain.Node, eth.Fork) *exec.Block {
	return func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
		a := GoodArgs(t, n, fork)
		args(t, fork, &a)
		b := Build(t, n, a)
		change(b)
		return b
	}
}

func everyFork(eth.Fork) bool { return true }

// boundsTransactions: amsterdam bounds what a transaction executes (EIP-8037) and no longer its gas
// limit (EIP-7825).
func boundsTransactions(f eth.Fork) bool { return f.HasCellProofs() && !f.HasAccessLists() }

func asBuilt(*exec.Block) {}

// with appends a transaction to a finished block, which no builder would take into one.
func with(data types.TxData) func(*testing.T, *chain.Node, eth.Fork) *exec.Block {
	return func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
		raw, err := Sign(t, UserKey, data).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return rehashed(func(b *exec.Block) { b.Payload.Transactions = append(b.Payload.Transactions, raw) })(t, n, fork)
	}
}

// Forks lists the forks whose blocks a chain has: also the one without blinded blocks.
func Forks() []eth.Fork { return append(eth.Forks(), eth.Gloas) }

// Contract judges good blocks and wrong ones of every fork by a validator of a chain. Whatever the
// way to validate, a good block passes and is said to pay what it pays, and each fault is found
// under the same rule.
func Contract(t *testing.T, validatorOf func(*testing.T, *chain.Node) exec.Validator) {
	for _, fork := range Forks() {
		n := Open(t, fork)
		validator := validatorOf(t, n)
		for _, row := range slices.Concat(goodBlocks, wrongHashes, wrongHeaders, wrongResults, wrongPayments, wrongBlobs,
			wrongRequests, wrongAccesses) {
			if !row.in(fork) {
				continue
			}
			t.Run(fork.String()+"/"+row.name, func(t *testing.T) {
				b := row.block(t, n, fork)
				announce(b)
				for range 2 { // the second time with what was kept of the first, such as proofs
					verdict := validator.Validate(t.Context(), b)
					if verdict.Class != row.class || verdict.Rule != row.rule {
						t.Fatalf("class %d, rule %s (%s), want class %d, rule %s", verdict.Class, verdict.Rule, verdict.Detail,
							row.class, row.rule)
					}
					if row.class == exec.Valid && (verdict.PaidWei == nil || !verdict.PaidWei.Eq(b.ValueWei)) {
						t.Errorf("paid %v, want %s", verdict.PaidWei, b.ValueWei.Dec())
					}
					if row.class != exec.Valid {
						break
					}
				}
				if n.Chain().HasBlock(common.Hash(b.Payload.BlockHash), b.Payload.BlockNumber) {
					t.Error("validation inserted the block")
				}
			})
		}
	}
}

var goodBlocks = []row{
	{"good", everyFork, spoiled(asBuilt), exec.Valid, ""},
	{"two blobs", eth.Fork.HasBlobs, otherwise(withTwoBlobs, asBuilt), exec.Valid, ""},
	{"REL-SUB-35 with an execution request", eth.Fork.HasRequests, otherwise(withRequest, asBuilt), exec.Valid, ""},
	{"with a builder's deposit and exit", eth.Fork.HasAccessLists, otherwise(withBuilderRequests, asBuilt),
		exec.Valid, ""},
	{"REL-SUB-19 a registered 0 means 30 million", everyFork,
		otherwise(func(_ *testing.T, _ eth.Fork, a *chain.BuildArgs) {
			a.GasLimitTarget = 0
		}, asBuilt), exec.Valid, ""},
	{"REL-SUB-16 the fee recipient is the coinbase", everyFork,
		func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
			args := GoodArgs(t, n, fork)
			args.Coinbase, args.Payment = Payee, nil
			built, err := n.Build(t.Context(), args)
			if err != nil {
				t.Fatal(err)
			}
			b := Build(t, n, args)
			b.ValueWei = built.CoinbaseGainWei
			return b
		}, exec.Valid, ""},
}

func withTwoBlobs(t *testing.T, fork eth.Fork, args *chain.BuildArgs) {
	args.Transactions[2] = BlobTransaction(t, fork, 2, 0, 1)
}

// withRequest asks the withdrawal contract for an exit (EIP-7002).
func withRequest(t *testing.T, _ eth.Fork, args *chain.BuildArgs) {
	args.Transactions = append(args.Transactions, Sign(t, UserKey, &types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), Nonce: 3, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: 2_000_000, To: &params.WithdrawalQueueAddress, Value: big.NewInt(1000), Data: bytes.Repeat([]byte{0xbb}, 56),
	}))
}

// withBuilderRequests asks the contracts of EIP-8282 for a deposit of 1 ether, and for an exit.
func withBuilderRequests(t *testing.T, _ eth.Fork, args *chain.BuildArgs) {
	amount := binary.BigEndian.AppendUint64(nil, 1_000_000_000)
	deposit := slices.Concat(bytes.Repeat([]byte{0xaa}, 48), bytes.Repeat([]byte{0xb0}, 32), amount,
		bytes.Repeat([]byte{0xcc}, 96))
	for i, call := range []struct {
		to    common.Address
		value *big.Int
		data  []byte
	}{
		{params.BuilderDepositAddress, big.NewInt(params.Ether + 1000), deposit},
		{params.BuilderExitAddress, big.NewInt(1000), bytes.Repeat([]byte{0xaa}, 48)},
	} {
		args.Transactions = append(args.Transactions, Sign(t, UserKey, &types.DynamicFeeTx{
			ChainID: big.NewInt(ChainID), Nonce: uint64(3 + i), GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: 2_000_000, To: &call.to, Value: call.value, Data: call.data,
		}))
	}
}

var wrongHashes = []row{
	{"REL-SUB-18 only the state root changed", everyFork, spoiled(func(b *exec.Block) {
		b.Payload.StateRoot[0] ^= 1
	}), exec.Invalid, exec.RuleBlockHash},
	{"REL-SUB-18 another parent beacon block root", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.ParentBeaconRoot[0] ^= 1
	}), exec.Invalid, exec.RuleBlockHash},
	{"REL-SUB-18 a commitment missing", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.Blobs.Commitments = nil
	}), exec.Invalid, exec.RuleBlockHash},
	{"REL-SUB-18 two commitments swapped", eth.Fork.HasBlobs, otherwise(withTwoBlobs, func(b *exec.Block) {
		slices.Reverse(b.Blobs.Commitments)
	}), exec.Invalid, exec.RuleBlockHash},
	{"a transaction that is none", everyFork, spoiled(func(b *exec.Block) {
		b.Payload.Transactions[0] = []byte{0xff}
	}), exec.Invalid, exec.RuleBlockHash},
}

var wrongHeaders = []row{
	{"an unknown parent", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.ParentHash[0] ^= 1
	}), exec.Infrastructure, exec.RuleParent},
	{"REL-SUB-17 a base fee of one wei more", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.BaseFeePerGas = new(uint256.Int).AddUint64(b.Payload.BaseFeePerGas, 1)
	}), exec.Invalid, exec.RuleHeader},
	{"REL-SUB-17 excess blob gas", eth.Fork.HasBlobs, rehashed(func(b *exec.Block) {
		b.Payload.ExcessBlobGas++
	}), exec.Invalid, exec.RuleHeader},
	{"REL-SUB-17 the parent's time", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.Timestamp -= 12
	}), exec.Invalid, exec.RuleHeader},
	{"REL-SUB-19 gas limit + 1", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.GasLimit++
	}), exec.Invalid, exec.RuleGasLimit},
	{"REL-SUB-19 gas limit - 1", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.GasLimit--
	}), exec.Invalid, exec.RuleGasLimit},
	{"REL-SUB-19 another one is registered", everyFork, spoiled(func(b *exec.Block) {
		b.RegisteredGasLimit = 30_000_000
	}), exec.Invalid, exec.RuleGasLimit},
}

var wrongResults = []row{
	{"REL-SUB-17 blob gas used, too little", eth.Fork.HasBlobs, rehashed(func(b *exec.Block) {
		b.Payload.BlobGasUsed -= params.BlobTxBlobGasPerBlob
	}), exec.Invalid, exec.RuleBody},
	{"REL-SUB-17 blob gas used, too much", eth.Fork.HasBlobs, rehashed(func(b *exec.Block) {
		b.Payload.BlobGasUsed += params.BlobTxBlobGasPerBlob
	}), exec.Invalid, exec.RuleBody},
	{"more than 8 MiB", eth.Fork.HasCellProofs, with(&types.LegacyTx{Nonce: 3, To: &common.Address{1},
		Data: make([]byte, params.MaxBlockSize)}), exec.Invalid, exec.RuleBody},
	{"a transaction of more than 2^24 gas", boundsTransactions, with(&types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), Nonce: 3, GasTipCap: new(big.Int), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: params.MaxTxGas + 1, To: &common.Address{1},
	}), exec.Invalid, exec.RuleExecution},
	{"transactions in bad order", everyFork, rehashed(func(b *exec.Block) {
		txs := b.Payload.Transactions
		txs[0], txs[1] = txs[1], txs[0]
	}), exec.Invalid, exec.RuleExecution},
	{"REL-SUB-17 state root", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.StateRoot[0] ^= 1
	}), exec.Invalid, exec.RuleState},
	{"REL-SUB-17 receipts root", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.ReceiptsRoot[0] ^= 1
	}), exec.Invalid, exec.RuleState},
	{"REL-SUB-17 bloom", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.LogsBloom[0] ^= 1
	}), exec.Invalid, exec.RuleState},
	{"REL-SUB-17 gas used", everyFork, rehashed(func(b *exec.Block) {
		b.Payload.GasUsed++
	}), exec.Invalid, exec.RuleState},
}

var wrongPayments = []row{
	{"REL-SUB-16 bids a wei more than it pays", everyFork, spoiled(func(b *exec.Block) {
		b.ValueWei = new(uint256.Int).AddUint64(b.ValueWei, 1)
	}), exec.Invalid, exec.RulePayment},
	{"REL-SUB-16 paid by a withdrawal only", eth.Fork.HasWithdrawals,
		otherwise(func(_ *testing.T, _ eth.Fork, a *chain.BuildArgs) {
			a.Payment = nil
		}, func(b *exec.Block) { b.ValueWei = uint256.NewInt(1) }), exec.Invalid, exec.RulePayment},
}

var wrongBlobs = []row{
	{"REL-SUB-28 a proof missing", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.Blobs.Proofs = b.Blobs.Proofs[1:]
	}), exec.Invalid, exec.RuleBlobs},
	{"REL-SUB-28 blobs and proofs withheld", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.Blobs.Blobs, b.Blobs.Proofs = nil, nil // no proof is wrong, but nobody could publish the block
	}), exec.Invalid, exec.RuleBlobs},
	{"a blob of another value", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.Blobs.Blobs[0][31]++
	}), exec.Invalid, exec.RuleBlobs},
	{"two blobs swapped below their commitments", eth.Fork.HasBlobs, otherwise(withTwoBlobs, func(b *exec.Block) {
		slices.Reverse(b.Blobs.Blobs)
	}), exec.Invalid, exec.RuleBlobs},
	{"blobs and proofs of another block below the commitments", eth.Fork.HasBlobs,
		func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
			b, args := Build(t, n, GoodArgs(t, n, fork)), GoodArgs(t, n, fork)
			args.Transactions[2] = BlobTransaction(t, fork, 2, 1)
			other := Build(t, n, args)
			b.Blobs.Blobs, b.Blobs.Proofs = other.Blobs.Blobs, other.Blobs.Proofs
			return b
		}, exec.Invalid, exec.RuleBlobs},
	{"the proofs of two blobs swapped", eth.Fork.HasBlobs, otherwise(withTwoBlobs, func(b *exec.Block) {
		proofs, each := b.Blobs.Proofs, len(b.Blobs.Proofs)/2
		b.Blobs.Proofs = slices.Concat(proofs[each:], proofs[:each])
	}), exec.Invalid, exec.RuleBlobs},
	{"a proof of other cells", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.Blobs.Proofs[0] = deneb.KZGProof{0xc0} // infinity: right for a constant polynomial only
	}), exec.Invalid, exec.RuleBlobs},
	{"a proof that is no point", eth.Fork.HasBlobs, spoiled(func(b *exec.Block) {
		b.Blobs.Proofs[0] = deneb.KZGProof(bytes.Repeat([]byte{0xff}, 48))
	}), exec.Invalid, exec.RuleBlobs},
}

var wrongRequests = []row{
	{"REL-SUB-35 a request that nobody made", eth.Fork.HasRequests, rehashed(func(b *exec.Block) {
		b.Requests.Consolidations = append(b.Requests.Consolidations, &electra.ConsolidationRequest{})
	}), exec.Invalid, exec.RuleState},
	{"REL-SUB-35 a request more than was hashed", eth.Fork.HasRequests, spoiled(func(b *exec.Block) {
		b.Requests.Consolidations = append(b.Requests.Consolidations, &electra.ConsolidationRequest{})
	}), exec.Invalid, exec.RuleBlockHash},
	{"REL-SUB-35 a request dropped", eth.Fork.HasRequests, func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
		b := otherwise(withRequest, asBuilt)(t, n, fork)
		if len(b.Requests.Withdrawals) != 1 {
			t.Fatalf("%d requests in the block, want 1", len(b.Requests.Withdrawals))
		}
		b.Requests.Withdrawals = []*electra.WithdrawalRequest{}
		return b
	}, exec.Invalid, exec.RuleBlockHash},
}

// wrongAccesses are blocks whose access list, slot or builders' requests are not those that their
// execution leads to.
var wrongAccesses = []row{
	{"no access list", eth.Fork.HasAccessLists, spoiled(func(b *exec.Block) {
		b.Gloas.AccessList = nil
	}), exec.Invalid, exec.RuleBlockHash},
	{"the access list of another block", eth.Fork.HasAccessLists, spoiled(func(b *exec.Block) {
		b.Gloas.AccessList = []byte{0xc0}
	}), exec.Invalid, exec.RuleBlockHash},
	{"an access list that execution does not lead to", eth.Fork.HasAccessLists,
		func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
			b, args := Build(t, n, GoodArgs(t, n, fork)), GoodArgs(t, n, fork)
			args.Transactions = args.Transactions[:2]
			b.Gloas.AccessList = Build(t, n, args).Gloas.AccessList
			Rehash(t, b)
			return b
		}, exec.Invalid, exec.RuleState},
	{"an access list without entries", eth.Fork.HasAccessLists, rehashed(func(b *exec.Block) {
		b.Gloas.AccessList = []byte{0xc0}
	}), exec.Invalid, exec.RuleState},
	{"another slot", eth.Fork.HasAccessLists, spoiled(func(b *exec.Block) {
		b.Gloas.Slot++
	}), exec.Invalid, exec.RuleBlockHash},
	{"a builder's exit that nobody asked for", eth.Fork.HasAccessLists, rehashed(func(b *exec.Block) {
		b.Gloas.BuilderExits = append(b.Gloas.BuilderExits, &gloas.BuilderExitRequest{})
	}), exec.Invalid, exec.RuleState},
	{"a builder's deposit dropped", eth.Fork.HasAccessLists,
		func(t *testing.T, n *chain.Node, fork eth.Fork) *exec.Block {
			b := otherwise(withBuilderRequests, asBuilt)(t, n, fork)
			if len(b.Gloas.BuilderDeposits) != 1 || len(b.Gloas.BuilderExits) != 1 {
				t.Fatalf("%+v, want a deposit and an exit", b.Gloas)
			}
			b.Gloas.BuilderDeposits = nil
			Rehash(t, b)
			return b
		}, exec.Invalid, exec.RuleState},
}
