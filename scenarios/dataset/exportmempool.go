package dataset

import (
	"encoding/csv"
	"fmt"
	"io"
)

// millisTime is a time in files of others, in milliseconds.
type millisTime Time

var exportMempool = ExportFormat{
	Name: string(mempoolSource),
	Doc: "mempool-dumpster's columns, in Parquet and in CSV; the CSV has no raw transactions. Of a transaction in no " +
		"block, block, its time and the delay are 0",
	Tables: []AnyOutgoing{
		Outgoing[Transaction]{
			Transactions, "mempool-dumpster.parquet", tellMempool,
			func(n Network, out io.Writer) (RowWriter[Transaction], error) { return NewWriter(mempoolTable, n, out) },
		},
		Outgoing[Transaction]{
			Transactions, "mempool-dumpster.csv", tellMempoolCSV,
			func(_ Network, out io.Writer) (RowWriter[Transaction], error) {
				w := &mempoolWriter{out: csv.NewWriter(out)}
				if err := w.out.Write(mempoolCSVColumns); err != nil {
					return nil, fmt.Errorf("begin mempool-dumpster's columns: %w", err)
				}
				return w, nil
			},
		},
	},
}

// tellMempool is what mempool-dumpster's files say: times in milliseconds, and nothing of a block
// without a number.
func tellMempool(t Transaction) (Transaction, string) {
	t.ObservedAt, t.IncludedAt = onlyMillis(t.ObservedAt), onlyMillis(t.IncludedAt)
	if t.IncludedBlock.V == 0 {
		t.IncludedBlock, t.IncludedAt, t.InclusionDelayMs = Int{}, Time{}, Signed{}
	}
	if t.IncludedAt.Micros == 0 {
		t.IncludedAt = Time{}
	}
	return t, ""
}

func tellMempoolCSV(t Transaction) (Transaction, string) {
	t, why := tellMempool(t)
	t.Raw = ""
	return t, why
}

// zeros are the block, its time and the delay as the archive writes them: 0 if there is no block.
func (t *Transaction) zeros() (Int, millisTime, Signed) {
	if !t.IncludedBlock.Known {
		return Int{0, true}, millisTime{0, true}, Signed{0, true}
	}
	return t.IncludedBlock, millisTime(t.IncludedAt), t.InclusionDelayMs
}

func textOf[T any](cell func(*Transaction) *T) func(*Transaction) any {
	return func(t *Transaction) any { text := Text(cellText(cell(t))); return &text }
}

var mempoolTable = &Table[Transaction]{Name: string(mempoolSource), weight: Transactions.weight,
	Columns: []Column[Transaction]{
		{Name: "timestamp", Cell: func(t *Transaction) any { return (*millisTime)(&t.ObservedAt) }},
		{Name: "hash", Cell: func(t *Transaction) any { return &t.Hash }},
		{Name: "chainId", Cell: textOf(func(t *Transaction) *Int { return &t.ChainID })},
		{Name: "txType", Cell: func(t *Transaction) any { return &t.TxType }},
		{Name: "from", Cell: func(t *Transaction) any { return &t.From }},
		{Name: "to", Cell: func(t *Transaction) any { return &t.To }},
		{Name: "value", Cell: textOf(func(t *Transaction) *Wei { return &t.ValueWei })},
		{Name: "nonce", Cell: textOf(func(t *Transaction) *Int { return &t.Nonce })},
		{Name: "gas", Cell: textOf(func(t *Transaction) *Int { return &t.GasLimit })},
		{Name: "gasPrice", Cell: textOf(func(t *Transaction) *Wei { return &t.GasPriceWei })},
		{Name: "gasTipCap", Cell: textOf(func(t *Transaction) *Wei { return &t.TipCapWei })},
		{Name: "gasFeeCap", Cell: textOf(func(t *Transaction) *Wei { return &t.FeeCapWei })},
		{Name: "dataSize", Cell: func(t *Transaction) any { return &t.DataBytes }},
		{Name: "data4Bytes", Cell: func(t *Transaction) any { return &t.Selector }},
		{Name: "sources", Cell: func(t *Transaction) any { return (*textList)(&t.Sources) }},
		{Name: "includedAtBlockHeight", Cell: func(t *Transaction) any { block, _, _ := t.zeros(); return &block }},
		{Name: "includedBlockTimestamp", Cell: func(t *Transaction) any { _, at, _ := t.zeros(); return &at }},
		{Name: "inclusionDelayMs", Cell: func(t *Transaction) any { _, _, delay := t.zeros(); return &delay }},
		{Name: "rawTx", Cell: func(t *Transaction) any { return &t.Raw }},
	},
}

type mempoolWriter struct{ out *csv.Writer }

// Write implements RowWriter.
func (w *mempoolWriter) Write(t *Transaction) error {
	block, at, delay := t.zeros()
	seenMs, blockMs := millis(t.ObservedAt), millis(Time(at))
	err := w.out.Write([]string{
		cellText(&seenMs), cellText(&t.Hash), cellText(&t.ChainID), cellText(&t.From), cellText(&t.To), t.ValueWei.String(),
		cellText(&t.Nonce), cellText(&t.GasLimit), t.GasPriceWei.String(), t.TipCapWei.String(), t.FeeCapWei.String(),
		cellText(&t.DataBytes), string(t.Selector), string(t.Sources), cellText(&block), cellText(&blockMs),
		cellText(&delay), cellText(&t.TxType),
	})
	if err != nil {
		return fmt.Errorf("write a row of mempool-dumpster's: %w", err)
	}
	return nil
}

// Close implements RowWriter.
func (w *mempoolWriter) Close() error {
	w.out.Flush()
	if err := w.out.Error(); err != nil {
		return fmt.Errorf("end mempool-dumpster's columns: %w", err)
	}
	return nil
}
