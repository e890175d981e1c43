package ledger

import (
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/gavel-relay/gavel/internal/projection"
)

// A ledger of a version that knew no senders keeps its refunds, and counts senders from then on.
func TestALedgerFromBeforeSenders(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	first, err := fs.ReadFile(migrationFiles, "migrations/01-ledger.sql")
	if err != nil {
		t.Fatal(err)
	}
	older, err := projection.Open(t.Context(), address, projection.Config{
		Name: "ledger", Migrations: fstest.MapFS{"01-ledger.sql": {Data: first}}, Decode: decode, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	fact := credited(1, 5, 0, alice, wei(100))
	parts, err := partsOf(fact.AmountWei)
	if err != nil {
		t.Fatal(err)
	}
	bundle := []byte{0xb0, 31: 1}
	change := inOrder(
		exec(`INSERT INTO refunds (seq, hash, bundle, block, block_hash, recipient, amount_0, amount_1, amount_2, amount_3, delayed)
			VALUES (1,?,?,5,?,?,?,?,?,?,0)`, fact.Hash[:], bundle, fact.BlockHash[:], alice[:], parts[0], parts[1],
			parts[2], parts[3]),
		exec(`UPDATE progress SET seq = 1`),
	)
	err = older.InTx(t.Context(), func(tx projection.Tx) error { return change(t.Context(), tx) })
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}
	l := openAt(t, address, Config{})
	later := credited(2, 6, 0, alice, wei(20))
	later.Bundle, later.Sender = [32]byte{0xb0, 2}, bob
	record(t, l, indexed(5, 0), later, indexed(6, 0))
	totals, err := l.MevTotals(t.Context(), noon, alice)
	if got := totalsOf(t, totals, err); got != "120 0 6" {
		t.Errorf("alice has %s", got)
	}
	totals, err = l.MevTotalsOfSender(t.Context(), noon, bob)
	if got := totalsOf(t, totals, err); got != "20 0 6" {
		t.Errorf("bob's orders %s", got)
	}
}
