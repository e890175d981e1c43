package simulate_test

import (
	"crypto/ecdsa"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

const (
	gwei  = params.GWei
	ether = params.Ether
)

var (
	searcher, user = testKey("searcher"), testKey("user")
	coinbase       = common.HexToAddress("0x38450000000000000000000000000000000093ea")

	// Contracts, in the machine's own words. None uses PUSH0, which bellatrix does not have.
	payer    = common.HexToAddress("0xc100000000000000000000000000000000000000") // gives its value to the coinbase
	reverter = common.HexToAddress("0xc200000000000000000000000000000000000000") // reverts with the word 42
	looper   = common.HexToAddress("0xc300000000000000000000000000000000000000") // never ends
	witness  = common.HexToAddress("0xc400000000000000000000000000000000000000") // returns what it sees of its block
	// counts its calls in slot 0, logs and returns the count
	counter = common.HexToAddress("0xc500000000000000000000000000000000000000")
	// takes 1 wei from whoever's code it is, here the coinbase's
	splitter = common.HexToAddress("0xc600000000000000000000000000000000000000")
	// pays the coinbase if it is called first in its block; else reverts
	toFail = common.HexToAddress("0xc700000000000000000000000000000000000000")

	contracts = map[common.Address]string{
		// 22 × JUMPDEST, so that a call costs the gas of the vectors; CALL(gas, coinbase, callvalue, 0,
		// 0, 0, 0); POP
		payer: "5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b" + "6000600060006000" + "34" + "41" + "5a" + "f1" + "50",
		// MSTORE(0, 42); REVERT(0, 32)
		reverter: "602a600052" + "60206000fd",
		looper:   "5b600056",
		// words 0 to 5: BLOCKHASH(NUMBER-1), TIMESTAMP, COINBASE, PREVRANDAO, NUMBER, BASEFEE; 6:
		// BLOCKHASH(NUMBER-2), 7: GASLIMIT
		witness: "600143034060005242602052416040524460605243608052" + "4860a052" + "60024303" + "40" + "60c052" + "4560e052" +
			"6101006000f3",
		// SSTORE(0, SLOAD(0)+1); MSTORE(0, SLOAD(0)); LOG0(0, 32); RETURN(0, 32)
		counter: "600160005401600055" + "600054600052" + "60206000a0" + "60206000f3",
		// CALL(gas, caller, 1, 0, 0, 0, 0)
		splitter: "6000600060006000" + "6001" + "33" + "5a" + "f1" + "00",
		// if SLOAD(0) != 0 revert; SSTORE(0, 1); pay
		toFail: "600054" + "601b57" + "6001600055" + "6000600060006000" + "34" + "41" + "5a" + "f1" + "50" + "00" + "0000" +
			"5b60006000fd",
	}
)

func testKey(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("simulator test key " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// testChain is a chain in one fork with money and contracts, and a simulator on it.
type testChain struct {
	*simulate.Simulator
	states  *chain.States
	chain   *core.BlockChain
	genesis *core.Genesis
	nonces  map[common.Address]uint64 // of the next transactions that the chain signs
}

func openChain(t testing.TB, fork eth.Fork, options simulate.Options, funded ...common.Address) *testChain {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: fork, Epoch: phase0.Epoch(0)}},
	}
	genesis, err := chain.GenesisOf(chain.Config{
		Spec: spec, ChainID: 1, GasLimit: 30_000_000, Funded: append(funded, addressOf(searcher), addressOf(user)),
	})
	if err != nil {
		t.Fatal(err)
	}
	genesis.Coinbase, genesis.Mixhash = coinbase, common.Hash{7}
	genesis.Alloc[coinbase] = types.Account{Balance: big.NewInt(1000)}
	for address, code := range contracts {
		genesis.Alloc[address] = types.Account{Balance: big.NewInt(10), Code: common.FromHex(code)}
	}
	bc, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, beacon.New(ethash.NewFaker()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bc.Stop)
	states := chain.NewStates(bc)
	return &testChain{Simulator: simulate.New(states, options), states: states, chain: bc, genesis: genesis,
		nonces: map[common.Address]uint64{}}
}

// latest is the environment of whoever wants nothing special.
var latest = exec.Environment{Latest: true}

// call is a transaction: a tip of 1 gwei, a nonce that follows from those before.
func (r *testChain) call(from *ecdsa.PrivateKey, to common.Address, value, gas uint64) exec.Tx {
	return r.callWith(from, to, value, gas, nil)
}

func (r *testChain) callWith(from *ecdsa.PrivateKey, to common.Address, value, gas uint64,
	change func(*types.DynamicFeeTx)) exec.Tx {
	sender := addressOf(from)
	data := &types.DynamicFeeTx{
		ChainID: r.chain.Config().ChainID, Nonce: r.nonces[sender], GasTipCap: big.NewInt(gwei),
		GasFeeCap: big.NewInt(1000 * gwei), Gas: gas, To: &to,
		Value: new(big.Int).SetUint64(value),
	}
	if change != nil {
		change(data)
	}
	r.nonces[sender] = data.Nonce + 1
	tx, err := types.SignNewTx(from, types.LatestSigner(r.chain.Config()), data)
	if err != nil {
		panic(err)
	}
	return exec.Tx{Transaction: tx, From: sender}
}

// blobs is a transaction that carries blobs. As in a block of the chain, the blobs themselves are
// elsewhere.
func (r *testChain) blobs(from *ecdsa.PrivateKey, count int) exec.Tx {
	sender := addressOf(from)
	hashes := make([]common.Hash, count)
	for i := range hashes {
		hashes[i] = common.Hash{1, byte(i)}
	}
	tx := types.MustSignNewTx(from, types.LatestSigner(r.chain.Config()), &types.BlobTx{
		ChainID: uint256.NewInt(1), Nonce: r.nonces[sender], GasTipCap: uint256.NewInt(gwei),
		GasFeeCap: uint256.NewInt(1000 * gwei), Gas: 21_000,
		BlobFeeCap: uint256.NewInt(gwei), BlobHashes: hashes,
	})
	r.nonces[sender]++
	return exec.Tx{Transaction: tx, From: sender}
}

// grow adds a block with transactions to the chain, as go-ethereum builds it.
func (r *testChain) grow(t testing.TB, txs ...exec.Tx) *types.Block {
	t.Helper()
	head := r.chain.GetBlockByHash(r.chain.CurrentBlock().Hash())
	_, blocks, _ := core.GenerateChainWithGenesis(r.genesis, r.chain.Engine(), int(head.NumberU64())+1,
		func(i int, g *core.BlockGen) {
			g.SetCoinbase(coinbase)
			if i < int(head.NumberU64()) { // the blocks before, again
				for _, tx := range r.chain.GetBlockByNumber(uint64(i) + 1).Transactions() {
					g.AddTxWithChain(r.chain, tx)
				}
				return
			}
			for _, tx := range txs {
				g.AddTxWithChain(r.chain, tx.Transaction)
			}
		})
	if _, err := r.chain.InsertChain(blocks[head.NumberU64():]); err != nil {
		t.Fatal(err)
	}
	return blocks[head.NumberU64()]
}

// balance is what the newest state has.
func (r *testChain) balance(t testing.TB, address common.Address) *uint256.Int {
	t.Helper()
	return r.balanceAt(t, r.chain.CurrentBlock().Hash(), address)
}

func (r *testChain) balanceAt(t testing.TB, block common.Hash, address common.Address) *uint256.Int {
	t.Helper()
	st, err := r.states.At(t.Context(), exec.Environment{ParentHash: block})
	if err != nil {
		t.Fatal(err)
	}
	return st.DB.GetBalance(address)
}

// mustCall simulates and wants an answer.
func (r *testChain) mustCall(t testing.TB, env exec.Environment, txs ...exec.Tx) *exec.CallResult {
	t.Helper()
	result, err := r.Call(t.Context(), txs, env)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// mustSimulate simulates and wants an answer, success or not.
func (r *testChain) mustSimulate(t testing.TB, env exec.Environment, bundle *exec.Bundle) *exec.BundleResult {
	t.Helper()
	result, err := r.Simulate(t.Context(), bundle, env)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// bundleOf is a bundle of transactions.
func bundleOf(txs ...exec.Tx) *exec.Bundle {
	b := &exec.Bundle{}
	for i := range txs {
		b.Elements = append(b.Elements, exec.Element{Tx: &txs[i]})
	}
	return b
}

// same compares results to the last pointer. Their errors are the execution's own variables, so
// that equal ones are the same.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }
