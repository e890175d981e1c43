package stream

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

// describeLiteral adds specs about the stream's rows of docs/differences.md, judged at the target's
// literal instance.
func describeLiteral(s *suite.Set) {
	s.It("STR-LIT-01", "has gasUsed in the history", func(t *suite.T) {
		begun := rpc.Head(t)
		tx := rpc.NewWallet(t).Transfer(1)
		shareBundle(t, some, tx)
		var found json.RawMessage
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			for _, r := range page(t, "blockStart=%d", max(begun, 1)-1) {
				if strings.Contains(string(r.Hint), hashTwice(tx.Hash())) {
					found = r.Hint
					return nil
				}
			}
			return fmt.Errorf("no record of the order")
		})
		t.Ready(err, "find the order in the history")
		var hint map[string]any
		err = json.Unmarshal(found, &hint)
		text, _ := hint["gasUsed"].(string)
		gas, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
		t.Check(err == nil && ok && gas.Cmp(big.NewInt(21_000)) == 0, "gasUsed of 21000 in hex", string(found))
	})
	s.It("STR-LIT-02", "has the gas limit by both names", func(t *suite.T) {
		tx := rpc.NewWallet(t).Transfer(1)
		shown := shareBundle(t, []string{"full"}, tx).tx(t)
		for _, name := range []string{"gas", "gasLimit"} {
			has(t, shown, name, hexutil.EncodeUint64(tx.Gas()))
		}
	})
}
