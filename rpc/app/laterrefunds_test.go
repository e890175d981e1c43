package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// A later version has stored what is owed with a field of its own. This version reads it, stores
// the list anew as refunds come and are paid, and the field is still there; also that of a fact
// which stands in the log.
func TestOwedKeepsLaterFields(t *testing.T) {
	h, dir := openChain(t), t.TempDir()
	refund := func(n byte) rpc.RefundCredited {
		return rpc.RefundCredited{Refund: rpc.Refund{Hash: common.Hash{n}, Block: 1, BlockHash: common.Hash{1},
			Recipient: common.Address{n}, AmountWei: uint256.NewInt(uint64(n))}}
	}
	later := func(fact rpc.Fact) json.RawMessage {
		raw, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte(`{"of_later":7,`), raw[1:]...)
	}
	app := h.opened(dir)
	paid := rpc.RefundPaid{Hash: common.Hash{2}, Block: 1, BlockHash: common.Hash{1}, Recipient: common.Address{2},
		PayoutBlock: 9}
	err := app.refunds.list.put(t.Context(), struct{}{}, func(yield func([]byte, error) bool) {
		for _, fact := range []rpc.Fact{refund(1), refund(2), paid} {
			yield(appendItem(nil, subjectPrefix+fact.Subject(), later(fact)), nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	third := refund(3)
	if _, err := app.journal.Append(t.Context(), subjectPrefix+third.Subject(), later(third)); err != nil {
		t.Fatal(err)
	}
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	for _, added := range []byte{4, 5} { // twice: what was stored once more is read again
		app = h.opened(dir)
		app.indexer.Apply(refund(added))
		app.refunds.observe(refund(added))
		if err := app.refunds.keepOwed(t.Context()); err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		if err := app.refunds.list.read(t.Context(), nil, func(item []byte) error {
			var n named
			if err := json.Unmarshal(item, &n); err != nil {
				return err
			}
			return decodeFacts(n.Subject, n.Fact, func(fact, _ rpc.Fact) {
				name, _ := nameRefund(fact)
				found[name.subject+" "+name.hash.Hex()[:4]] = string(n.Fact)
			})
		}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"refund_credited 0x01", "refund_credited 0x02", "refund_paid 0x02",
			"refund_credited 0x03"} {
			if !strings.Contains(found[name], `"of_later":7`) {
				t.Errorf("after refund %d: %s is %s", added, name, found[name])
			}
		}
		if text := found["refund_credited 0x0"+string('0'+added)]; text == "" || strings.Contains(text, "of_later") {
			t.Errorf("refund %d is %s", added, text)
		}
		if err := app.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
