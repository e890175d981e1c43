package simulate_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// Whatever the transactions, what is simulated on a state that is read over JSON-RPC is what is
// simulated on the chain itself.
func TestFarIsAsGoodAsNear(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		contracts := w.deploy(countingContract, witnessContract, revertingContract, peeper)
		for range 3 {
			w.send(alice, &contracts[0], 0, 200_000, nil)
			w.mine()
		}
		head := w.chain.CurrentBlock().Number.Uint64()
		near, far := simulate.New(chain.NewStates(w.chain), simulate.Options{}), simulate.New(w.states(nil),
			simulate.Options{})
		begin := w.nonces[alice]
		rapid.Check(t, func(r *rapid.T) {
			env := exec.Environment{ParentNumber: rapid.Uint64Range(head-2, head).Draw(r, "parent")}
			w.nonces[alice] = begin - (head - env.ParentNumber)
			var txs []exec.Tx
			for range rapid.IntRange(1, 4).Draw(r, "transactions") {
				to, data := &contracts[rapid.IntRange(0, len(contracts)-1).Draw(r, "contract")],
					common.LeftPadBytes(contracts[0][:], 32)
				switch rapid.IntRange(0, 4).Draw(r, "kind") {
				case 0:
					to, data = &common.Address{rapid.Byte().Draw(r, "to")}, nil
				case 1:
					to, data = nil, creation(countingContract)
				}
				tx := w.sign(alice, to, int64(rapid.IntRange(0, 2).Draw(r, "value")), 300_000, data)
				txs = append(txs, exec.Tx{Transaction: tx, From: addressOf(alice)})
			}
			want, wrong := near.Call(t.Context(), txs, env)
			got, err := far.Call(t.Context(), txs, env)
			if fmt.Sprint(err) != fmt.Sprint(wrong) || text(got) != text(want) {
				r.Fatalf("far %s, %v\nnear %s, %v", text(got), err, text(want), wrong)
			}
		})
	})
}

func text(result *exec.CallResult) string {
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
