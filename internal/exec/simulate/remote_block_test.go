package simulate_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// A block that does not hold what its header names, or is another one than was asked for, is the
// node's failure.
func TestFalseBlocks(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	w.send(alice, &nobody, 1, 21_000, nil)
	w.send(bob, &nobody, 1, 21_000, nil)
	block := w.mine()
	var whole map[string]any
	must(t, w.client.Client().CallContext(t.Context(), &whole, "eth_getBlockByHash", block.Hash(), true))
	txs, withdrawals := whole["transactions"].([]any), whole["withdrawals"].([]any)
	withdrawal := withdrawals[0].(map[string]any)

	for name, row := range map[string]struct {
		field string
		value any
		fine  bool
	}{
		"as it is":                      {field: "extra", fine: true},
		"another block":                 {field: "timestamp", value: "0x1"},
		"a transaction less":            {field: "transactions", value: txs[:1]},
		"no transactions":               {field: "transactions", value: []any{}},
		"transactions in another order": {field: "transactions", value: []any{txs[1], txs[0]}},
		"null for a transaction":        {field: "transactions", value: []any{txs[0], nil}},
		"hashes for transactions":       {field: "transactions", value: []any{common.Hash{1}, common.Hash{2}}},
		"null for a withdrawal":         {field: "withdrawals", value: []any{nil}},
		"another withdrawal": {field: "withdrawals", value: []any{map[string]any{
			"index": "0x9", "validatorIndex": withdrawal["validatorIndex"], "address": withdrawal["address"],
			"amount": withdrawal["amount"],
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := map[string]any{}
			for field, value := range whole {
				fields[field] = value
			}
			fields[row.field] = row.value
			text, err := json.Marshal(fields)
			must(t, err)
			node := always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":`+string(text)+`}`)
			states := open(t, simulate.RemoteOptions{URLs: []string{"http://node"},
				HTTP: &http.Client{Transport: played{"node": node}}})
			got, err := states.Block(t.Context(), block.Hash())
			if row.fine {
				must(t, err)
				if got.Hash() != block.Hash() || len(got.Transactions()) != 2 {
					t.Errorf("got %s with %d transactions", got.Hash(), len(got.Transactions()))
				}
				return
			}
			if !errors.Is(err, exec.ErrNode) {
				t.Errorf("got %v", err)
			}
			if _, err := states.BlockByNumber(t.Context(), 77); !errors.Is(err, exec.ErrNode) {
				t.Errorf("by another number: %v", err)
			}
		})
	}
}
