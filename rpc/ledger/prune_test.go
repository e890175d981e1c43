package ledger

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/rpc"
)

// Only orders that ended go, only old ones, in more batches than one, and to whom they were sent
// with them.
func TestPrune(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		const old = pruneBatch + 1
		var facts []rpc.Fact
		for n := range uint64(old) {
			end := ended(2, n, rpc.Expired, "", 1)
			binary.BigEndian.PutUint64(end.Hash[16:], n+1)
			facts = append(facts, rpc.OrderSent{At: at(1), OrderRef: end.OrderRef, Delivery: rpc.Delivery{Builder: "east"}}, end)
		}
		returned := rpc.OrderReturned{At: at(2), OrderRef: ref(old)}
		record(t, l, append(facts, offered(1, old, "east", ""), ended(2, old, rpc.Landed, "", 1), returned)...)
		forgotten := prune(t, l, 3)
		// A batch whose answer was lost is forgotten, and not counted.
		if _, broken := l.projection.Database.(*projectiontest.Faulty); !broken && forgotten != old {
			t.Errorf("%d forgotten, want %d", forgotten, old)
		}
		var orders, sendings int
		err := l.projection.QueryRow(t.Context(),
			`SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM sendings)`).Scan(
			&orders, &sendings)
		if err != nil {
			t.Fatal(err)
		}
		if orders != 1 || sendings != 1 {
			t.Errorf("%d orders and %d sendings are left, want the one that lives", orders, sendings)
		}
		record(t, l, ended(4, old, rpc.Expired, "", 1))
		if prune(t, l, 4); remembered(t, l) == "unknown" {
			t.Error("an order was forgotten that ended just then")
		}
	})
}

// prune forgets what ended before a second. It tries again after an injected fault.
func prune(t *testing.T, l *Ledger, second int) (forgotten int64) {
	t.Helper()
	for {
		batch, err := l.Prune(t.Context(), at(second))
		forgotten += batch
		if err == nil {
			return forgotten
		}
		if !errors.Is(err, projectiontest.ErrFault) {
			t.Fatal(err)
		}
	}
}
