package chain

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
)

// systemCall calls a contract that makes execution requests; a thousand wei pay its fee.
func systemCall(t testing.TB, nonce uint64, to common.Address, data []byte) *types.Transaction {
	t.Helper()
	return signed(t, testKey(2), &types.DynamicFeeTx{
		ChainID: big.NewInt(testChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       300_000, To: &to, Value: big.NewInt(1000), Data: data,
	})
}

// depositLog is a deposit as the event carries it: five byte strings by ABI, public key and
// signature filled with a byte.
func depositLog(amountGwei uint64, fill byte) []byte {
	amount := binary.LittleEndian.AppendUint64(nil, amountGwei)
	fields := [][]byte{bytes.Repeat([]byte{fill}, 48), make([]byte, 32), amount, bytes.Repeat([]byte{fill}, 96),
		make([]byte, 8)}
	var head, tail []byte
	for _, field := range fields {
		head = append(head, common.LeftPadBytes(big.NewInt(int64(32*len(fields)+len(tail))).Bytes(), 32)...)
		tail = append(tail, common.LeftPadBytes(big.NewInt(int64(len(field))).Bytes(), 32)...)
		tail = append(tail, common.RightPadBytes(field, (len(field)+31)/32*32)...)
	}
	return append(head, tail...)
}

// All three kinds of execution requests come out of a block as they went in, and the Engine API
// finds the same.
func TestExecutionRequests(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			n := opened(t, specOf(fork))
			built := land(t, n, argsFor(n, 1,
				systemCall(t, 0, DepositContract, depositLog(32_000_000_000, 0xaa)),
				systemCall(t, 1, DepositContract, []byte{1}), // reverts: what it would log could not be read
				systemCall(t, 2, params.WithdrawalQueueAddress, bytes.Repeat([]byte{0xbb}, 56)),
				systemCall(t, 3, params.ConsolidationQueueAddress, bytes.Repeat([]byte{0xcc}, 96)),
			))
			r := built.Requests
			if built.Left != 0 || len(r.Deposits) != 1 || len(r.Withdrawals) != 1 || len(r.Consolidations) != 1 {
				t.Fatalf("%d left out, %+v", built.Left, r)
			}
			if d := r.Deposits[0]; d.Amount != 32_000_000_000 || d.Pubkey[47] != 0xaa || d.Signature[95] != 0xaa {
				t.Errorf("deposit %+v", d)
			}
			if w := r.Withdrawals[0]; common.Address(w.SourceAddress) != addressOf(testKey(2)) || w.ValidatorPubkey[0] != 0xbb {
				t.Errorf("withdrawal %+v", w)
			}
			if c := r.Consolidations[0]; common.Address(c.SourceAddress) != addressOf(testKey(2)) || c.TargetPubkey[47] != 0xcc {
				t.Errorf("consolidation %+v", c)
			}
		})
	}
}
