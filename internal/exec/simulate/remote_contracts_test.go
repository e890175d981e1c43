package simulate_test

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// dialects are what nodes may not know.
var dialects = map[string]func(call) int{
	"all standard methods": nil,
	"no eth_getProof": func(c call) int {
		if c.Method == "eth_getProof" {
			return -32601
		}
		return 0
	},
	"proofs for the newest block only": func(c call) int {
		if c.Method == "eth_getProof" {
			return -32000
		}
		return 0
	},
	"no state by hash": func(c call) int {
		if strings.Contains(c.String(), "blockHash") {
			return -32602
		}
		return 0
	},
	"neither": func(c call) int {
		switch {
		case c.Method == "eth_getProof":
			return -32601
		case strings.Contains(c.String(), "blockHash"):
			return -32602
		}
		return 0
	},
}

// What the state reads is what the node says of the same block, in every dialect: accounts with
// money, with code, with storage, without anything.
func TestStateIsTheNodes(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		contracts := w.deploy(countingContract, witnessContract)
		addresses := append(slices.Clone(contracts), addressOf(alice), addressOf(bob), nobody, common.Address{},
			common.Address{1}, params.BeaconRootsAddress)
		var slots []common.Hash
		random := rand.New(rand.NewPCG(1, 2))
		for range 5 {
			to := common.BigToAddress(new(big.Int).SetUint64(random.Uint64()))
			w.send(alice, &contracts[0], 0, 100_000, nil)
			w.send(bob, &to, random.Int64N(1e18), 21_000, nil)
			block := w.mine()
			addresses, slots = append(addresses, to), append(slots, common.BigToHash(new(big.Int).SetUint64(block.Time())))
		}
		slots = append(slots, common.Hash{}, common.Hash{31: 1}, common.Hash{0: 0xff})
		head, err := w.client.BlockByNumber(t.Context(), nil)
		must(t, err)
		for dialect, refuse := range dialects {
			t.Run(dialect, func(t *testing.T) {
				states := w.states(&tap{refuse: refuse})
				for _, hash := range []common.Hash{head.Hash(), head.ParentHash()} {
					st, err := states.At(t.Context(), exec.Environment{ParentHash: hash})
					must(t, err)
					for _, address := range addresses {
						compareAccount(t, w, st, address, slots)
					}
					must(t, st.DB.Error())
				}
			})
		}
	})
}

func compareAccount(t *testing.T, w *world, st *simulate.State, address common.Address, slots []common.Hash) {
	t.Helper()
	hash := st.Parent.Hash()
	balance, err := w.client.BalanceAtHash(t.Context(), address, hash)
	must(t, err)
	nonce, err := w.client.NonceAtHash(t.Context(), address, hash)
	must(t, err)
	code, err := w.client.CodeAtHash(t.Context(), address, hash)
	must(t, err)
	db := st.DB
	if got := db.GetBalance(address); got.Cmp(uint256.MustFromBig(balance)) != 0 {
		t.Errorf("%s has %s wei, the node says %s", address, got, balance)
	}
	if got := db.GetNonce(address); got != nonce {
		t.Errorf("%s has nonce %d, the node says %d", address, got, nonce)
	}
	if got := db.GetCode(address); !bytes.Equal(got, code) || db.GetCodeSize(address) != len(code) {
		t.Errorf("%s has code %x, the node says %x", address, got, code)
	}
	if want := crypto.Keccak256Hash(code); db.Exist(address) && db.GetCodeHash(address) != want {
		t.Errorf("%s has code hash %s, want %s", address, db.GetCodeHash(address), want)
	}
	for _, slot := range slots {
		value, err := w.client.StorageAtHash(t.Context(), address, slot, hash)
		must(t, err)
		if got := db.GetState(address, slot); got != common.BytesToHash(value) {
			t.Errorf("%s has %s in slot %s, the node says %x", address, got, slot, value)
		}
	}
}

// A block that the node executed is executed here on the node's state, and every transaction does
// the same: gas, logs, success, what is returned.
func TestExecutionIsTheNodes(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		contracts := w.deploy(countingContract, witnessContract, revertingContract, peeper)
		for range 10 {
			w.mine()
		}
		w.send(bob, &contracts[0], 0, 100_000, nil)
		w.send(bob, &contracts[1], 0, 100_000, nil)
		w.send(bob, &contracts[2], 0, 100_000, nil)
		w.send(bob, &contracts[3], 0, 100_000, common.LeftPadBytes(contracts[1][:], 32))
		w.send(bob, &nobody, 1, 21_000, nil)
		w.send(bob, nil, 0, 300_000, creation(countingContract))
		block := w.mine()
		if len(block.Transactions()) != 6 {
			t.Fatalf("%d transactions in the block", len(block.Transactions()))
		}
		tap := &tap{}
		simulator := simulate.New(w.states(tap), simulate.Options{})
		landing, err := simulator.Replay(t.Context(), block)
		must(t, err)
		for i, did := range landing.Txs {
			compareReceipt(t, w, did)
			switch i {
			case 1:
				compareHashes(t, w, block, did)
			case 0, 2, 3:
				compareReturn(t, w, block, did)
			}
		}
		requests, _ := tap.seen()
		t.Logf("%d requests for a block of %d transactions", requests, len(landing.Txs))
	})
}

func compareReceipt(t *testing.T, w *world, did exec.TxResult) {
	t.Helper()
	receipt, err := w.client.TransactionReceipt(t.Context(), did.Hash)
	must(t, err)
	if did.GasUsed != receipt.GasUsed || (did.Err == nil) != (receipt.Status == types.ReceiptStatusSuccessful) ||
		len(did.Logs) != len(receipt.Logs) {
		t.Errorf("transaction %d: %d gas, error %v, %d logs; its receipt says %d, %d, %d", receipt.TransactionIndex,
			did.GasUsed, did.Err,
			len(did.Logs), receipt.GasUsed, receipt.Status, len(receipt.Logs))
		return
	}
	for i, log := range did.Logs {
		if log.Address != receipt.Logs[i].Address || !bytes.Equal(log.Data, receipt.Logs[i].Data) {
			t.Errorf("transaction %d logs %x, its receipt says %x", receipt.TransactionIndex, log.Data, receipt.Logs[i].Data)
		}
	}
}

// compareReturn has the node make the same call on the same state.
func compareReturn(t *testing.T, w *world, block *types.Block, did exec.TxResult) {
	t.Helper()
	want, err := w.client.CallContract(t.Context(), ethereum.CallMsg{From: did.From, To: did.To, Data: input(block, did)},
		before(block, 1))
	if (err == nil) != (did.Err == nil) || err == nil && !bytes.Equal(did.Return, want) {
		t.Errorf("%s returned %x, %v; the node's call %x, %v", did.To, did.Return, did.Err, want, err)
	}
}

// compareHashes looks up the blocks that the witness has seen.
func compareHashes(t *testing.T, w *world, block *types.Block, did exec.TxResult) {
	t.Helper()
	for i, back := range []int64{1, 2, 10} {
		header, err := w.client.HeaderByNumber(t.Context(), before(block, back))
		must(t, err)
		if got := common.BytesToHash(did.Return[32*i : 32*i+32]); got != header.Hash() {
			t.Errorf("BLOCKHASH of %d blocks ago is %s, want %s", back, got, header.Hash())
		}
	}
}

func before(block *types.Block, blocks int64) *big.Int {
	return new(big.Int).Sub(block.Number(), big.NewInt(blocks))
}

func input(block *types.Block, did exec.TxResult) []byte { return block.Transaction(did.Hash).Data() }
