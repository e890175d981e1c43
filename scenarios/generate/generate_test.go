package generate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// A private transaction that landed is in the block that its row names, and the chain says of each
// block what its row says.
func TestRowsAreOfTheChain(t *testing.T) {
	w, err := open(Config{Seed: 2, Slots: 12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.node.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := w.run(t.Context(), func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	landed, blocks := 0, 0
	for _, o := range w.rows.Orders {
		if o.Kind != "private-transaction" || o.State != "landed" {
			continue
		}
		landed++
		block := w.node.Chain().GetBlockByHash(o.BlockHash.V)
		if block == nil || !slices.ContainsFunc(block.Transactions(), func(tx *types.Transaction) bool {
			return tx.Hash() == common.Hash(o.Hash.V)
		}) {
			t.Errorf("%x is not in block %x", o.Hash.V, o.BlockHash.V)
		}
	}
	for _, s := range w.rows.Slots {
		if s.Outcome == dataset.Missed {
			continue
		}
		blocks++
		block := w.node.Chain().GetBlockByHash(s.BlockHash.V)
		if block == nil || int64(block.GasUsed()) != s.GasUsed.V || len(block.Transactions()) != int(s.NumTx.V) ||
			block.Time() != uint64(s.SlotStart.Micros/1e6) ||
			w.node.Chain().GetCanonicalHash(block.NumberU64()) != block.Hash() {
			t.Errorf("the row of slot %d is of another block than %v", s.Slot.V, block)
		}
	}
	if landed == 0 || blocks == 0 {
		t.Errorf("%d landed, %d blocks", landed, blocks)
	}
	transactionsAreOfTheChain(t, w)
}

// transactionsAreOfTheChain compares the rows of public transactions with the blocks: each is in
// the block that it names, or in none, and says what the block has.
func transactionsAreOfTheChain(t *testing.T, w *world) {
	t.Helper()
	in := map[common.Hash]*types.Block{}
	for block := w.head.block; block.NumberU64() > 0; block = w.node.Chain().GetBlockByHash(block.ParentHash()) {
		for _, tx := range block.Transactions() {
			in[tx.Hash()] = block
		}
	}
	rest := w.collector.rest()
	if len(rest) == 0 || len(w.rows.Transactions) == 0 {
		t.Errorf("%d in blocks, %d in none", len(w.rows.Transactions), len(rest))
	}
	for _, row := range rest {
		if block := in[row.Hash.V]; block != nil || row.IncludedBlock.Known {
			t.Errorf("%x is in no block by its row, and in %v", row.Hash.V, block)
		}
	}
	for _, row := range w.rows.Transactions {
		block := in[row.Hash.V]
		if block == nil || block.NumberU64() != uint64(row.IncludedBlock.V) {
			t.Errorf("%x is in block %d by its row, and in %v", row.Hash.V, row.IncludedBlock.V, block)
			continue
		}
		tx := block.Transaction(row.Hash.V)
		from, err := types.Sender(w.mempool.signer, tx)
		if err != nil || from != common.Address(row.From.V) || tx.Nonce() != uint64(row.Nonce.V) ||
			int(tx.Type()) != int(row.TxType.V) || len(tx.Data()) != int(row.DataBytes.V) ||
			row.IncludedAt.Micros != int64(block.Time())*1e6 ||
			row.InclusionDelayMs.V != (row.IncludedAt.Micros-row.ObservedAt.Micros)/1000 {
			t.Errorf("%x: %+v", row.Hash.V, row)
		}
	}
}

// Rows of slots that are not over stay until they are.
func TestCut(t *testing.T) {
	r := &Rows{Slots: []*dataset.Slot{{Slot: intOf(1)}, {Slot: intOf(3)}, {Slot: intOf(2)}}}
	taken := r.cut(2)
	if len(taken.Slots) != 2 || taken.Slots[0].Slot.V != 1 || taken.Slots[1].Slot.V != 2 || len(r.Slots) != 1 {
		t.Errorf("taken %d, left %d", len(taken.Slots), len(r.Slots))
	}
	count := 0
	for range taken.All() {
		count++
	}
	if count != 2 {
		t.Errorf("%d rows in all", count)
	}
}

var errEnough = errors.New("enough")

// An error of whoever takes the rows ends the run.
func TestRunEnds(t *testing.T) {
	slots := 0
	err := Run(t.Context(), Config{Seed: 1, Slots: 3}, func(int, *Rows) error {
		slots++
		return errEnough
	})
	if !errors.Is(err, errEnough) || slots != 1 {
		t.Errorf("%v after %d slots", err, slots)
	}
}

// The dictionary names each table with all its columns, each model, and what came of the rows.
func TestDictionary(t *testing.T) {
	var tally Tally
	tally.Add(&Rows{Slots: []*dataset.Slot{{Outcome: dataset.Missed, Because: "nobody was there"}}})
	text := Dictionary(Config{Seed: 5, Slots: 1}, &tally)
	wanted := []string{"Seed 5, 1 slots", "generated-5", "| `slots` | missed: nobody was there | 1 |", "`worth_wei`"}
	for _, table := range dataset.Tables {
		wanted = append(wanted, table.Markdown())
	}
	for _, m := range Models {
		wanted = append(wanted, m.Doc)
	}
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
}
