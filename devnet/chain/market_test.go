package chain_test

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

const testChainID = 77

var (
	trader   = key("trader")
	searcher = key("searcher")
	coinbase = common.HexToAddress("0xc0ffee")
)

func key(name string) *ecdsa.PrivateKey {
	k, err := crypto.ToECDSA(crypto.Keccak256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return k
}

func at(k *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(k.PublicKey) }

// market is a chain with the contracts, on which blocks are built on genesis: none of them sees
// another.
type market struct {
	*chain.Node
}

func open(t testing.TB) *market {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 2,
		Forks: []eth.ForkPoint{{Fork: eth.Bellatrix}},
	}
	funded := []common.Address{at(trader), at(searcher)}
	n, err := chain.Open(chain.Config{Spec: spec, ChainID: testChainID, Funded: funded,
		Accounts: chain.Genesis(funded)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return &market{n}
}

// call is a transaction without a tip.
type call struct {
	from     *ecdsa.PrivateKey
	to       common.Address
	valueWei *uint256.Int
	data     []byte
}

// fataler is what testing and rapid have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// after is the chain after a block of calls.
type after struct {
	t        fataler
	market   *market
	block    *types.Block
	receipts types.Receipts
}

func (m *market) after(t fataler, calls ...call) *after {
	t.Helper()
	nonces := map[common.Address]uint64{}
	var txs []*types.Transaction
	for _, c := range calls {
		value := c.valueWei
		if value == nil {
			value = new(uint256.Int)
		}
		tx, err := types.SignNewTx(c.from, types.LatestSignerForChainID(big.NewInt(testChainID)), &types.DynamicFeeTx{
			ChainID: big.NewInt(testChainID), Nonce: nonces[at(c.from)], GasTipCap: new(big.Int),
			GasFeeCap: big.NewInt(100 * params.GWei),
			Gas:       chain.BackrunGas, To: &c.to, Value: value.ToBig(), Data: c.data,
		})
		if err != nil {
			t.Fatal(err)
		}
		nonces[at(c.from)]++
		txs = append(txs, tx)
	}
	built, err := m.Build(contextOf(t), chain.BuildArgs{
		Parent: phase0.Hash32(m.Genesis().Hash()), Slot: 1, Coinbase: coinbase, GasLimitTarget: 60_000_000, Transactions: txs,
	})
	if err != nil {
		t.Fatal(err)
	}
	if built.Left > 0 {
		t.Fatalf("%d of %d transactions are not in the block", built.Left, len(txs))
	}
	if err := m.Import(contextOf(t), built.Fork, built.Payload, nil, phase0.Root{}, nil); err != nil {
		t.Fatal(err)
	}
	return &after{t, m, built.Block, m.Chain().GetReceiptsByHash(built.Block.Hash())}
}

func (a *after) state() *state.StateDB {
	a.t.Helper()
	st, err := a.market.Chain().StateAt(a.block.Root(), a.block.Number(), a.block.Time())
	if err != nil {
		a.t.Fatal(err)
	}
	return st
}

// storage is a word of a contract's storage.
func (a *after) storage(account common.Address, slot common.Hash) *uint256.Int {
	st := a.state()
	word := st.GetState(account, slot)
	return new(uint256.Int).SetBytes(word[:])
}

func (a *after) balance(account common.Address) *uint256.Int {
	st := a.state()
	return st.GetBalance(account)
}

// tokens is an account's balance in a token.
func (a *after) tokens(token, owner common.Address) *uint256.Int {
	return a.storage(token, crypto.Keccak256Hash(common.LeftPadBytes(owner[:], 32), make([]byte, 32)))
}

func (a *after) reserves(pool common.Address) chain.Reserves {
	return chain.Reserves{
		EtherWei: a.storage(pool, common.BigToHash(big.NewInt(2))), Tokens: a.storage(pool, common.BigToHash(big.NewInt(3))),
	}
}

func ether(n uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(params.Ether))
}

func same(a, b chain.Reserves) bool { return a.EtherWei.Eq(b.EtherWei) && a.Tokens.Eq(b.Tokens) }

func show(r chain.Reserves) string { return fmt.Sprintf("%s wei, %s tokens", r.EtherWei, r.Tokens) }
