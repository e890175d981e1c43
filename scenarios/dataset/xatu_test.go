package dataset

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// xatuFile writes a file as ClickHouse writes xatu's tables: hashes and amounts are fixed bytes,
// times are timestamps in milliseconds, the number of a slot is an unsigned INT32. Each value is
// written in little-endian order unless its text ends in "be".
func xatuFile(t testing.TB, delivered bool, values ...string) []byte {
	t.Helper()
	amounts := make([]parquet.FixedLenByteArray, len(values))
	for i, text := range values {
		decimal, isBig := strings.CutSuffix(text, "be")
		n, ok := new(big.Int).SetString(decimal, 10)
		if !ok {
			t.Fatal(text)
		}
		raw := n.FillBytes(make([]byte, 32))
		if !isBig {
			raw = reversed(raw)
		}
		amounts[i] = raw
	}
	each := func(text string) (cells []parquet.ByteArray) {
		for range values {
			cells = append(cells, []byte(text))
		}
		return cells
	}
	fixed := func(text string) (cells []parquet.FixedLenByteArray) {
		for _, cell := range each(text) {
			cells = append(cells, parquet.FixedLenByteArray(cell))
		}
		return cells
	}
	numbers := func(n int64) (cells []int64) {
		for range values {
			cells = append(cells, n)
		}
		return cells
	}
	hash := "0x" + strings.Repeat("ab", 32)
	columns := []testColumn{
		{"slot", parquet.Types.Int32, schema.NewIntLogicalType(32, false), -1, 7567001},
		{"relay_name", parquet.Types.ByteArray, schema.NoLogicalType{}, -1, each("ultrasound")},
		{"block_hash", parquet.Types.FixedLenByteArray, schema.NoLogicalType{}, 66, fixed(hash)},
		{"builder_pubkey", parquet.Types.ByteArray, schema.NoLogicalType{}, -1, each("0x" + strings.Repeat("cd", 48))},
		{"value", parquet.Types.FixedLenByteArray, schema.NoLogicalType{}, 32, amounts},
		{"meta_network_name", parquet.Types.ByteArray, schema.NoLogicalType{}, -1, each("mainnet")},
		{"event_date_time", parquet.Types.Int64, schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), -1,
			numbers(1697628040123)},
	}
	if delivered {
		columns = append(columns, testColumn{"wallclock_slot", parquet.Types.Int32, schema.NewIntLogicalType(32, false), -1,
			1})
	} else {
		columns = append(columns,
			testColumn{"parent_hash", parquet.Types.FixedLenByteArray, schema.NoLogicalType{}, 66, fixed(hash)},
			testColumn{"timestamp_ms", parquet.Types.Int64, schema.NewIntLogicalType(64, true), -1, numbers(1697628036001)})
	}
	return parquetFile(t, len(values), columns)
}

// testColumn is a required column. Cells are a slice of the physical type, or for INT32 one number.
type testColumn struct {
	name    string
	kind    parquet.Type
	logical schema.LogicalType
	length  int
	cells   any
}

func parquetFile(t testing.TB, rows int, columns []testColumn) []byte {
	t.Helper()
	var fields schema.FieldList
	for _, c := range columns {
		node, err := schema.NewPrimitiveNodeLogical(c.name, parquet.Repetitions.Required, c.logical, c.kind, c.length, -1)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, node)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root)
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		chunk, err := group.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		switch chunk := chunk.(type) {
		case *file.Int32ColumnChunkWriter:
			cells := make([]int32, rows)
			for i := range cells {
				cells[i] = int32(c.cells.(int))
			}
			_, err = chunk.WriteBatch(cells, nil, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = chunk.WriteBatch(c.cells.([]int64), nil, nil)
		case *file.ByteArrayColumnChunkWriter:
			_, err = chunk.WriteBatch(c.cells.([]parquet.ByteArray), nil, nil)
		case *file.FixedLenByteArrayColumnChunkWriter:
			_, err = chunk.WriteBatch(c.cells.([]parquet.FixedLenByteArray), nil, nil)
		}
		if err = errors.Join(err, chunk.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readParquet(content []byte) (rows collected, err error) {
	f, err := RecogniseParquet(bytes.NewReader(content))
	if err != nil {
		return rows, err
	}
	return rows, f.ReadParquet(bytes.NewReader(content), Origin{Network: mainnet}, &rows)
}

// The values of a file are the same in either byte order.
func TestXatuByteOrder(t *testing.T) {
	want := []string{"1", "256", "60154123185870503", "99999999999999999999999999999999999999", "0"}
	for _, order := range []string{"", "be"} {
		var values []string
		for _, v := range want {
			values = append(values, v+order)
		}
		rows, err := readParquet(xatuFile(t, false, values...))
		if err != nil || len(rows.bids) != len(want) || len(rows.bad) > 0 {
			t.Fatalf("%q: %v, %d bids, bad %q", order, err, len(rows.bids), rows.bad)
		}
		for i, b := range rows.bids {
			if b.ValueWei.String() != want[i] {
				t.Errorf("%q: value %s in place of %s", order, b.ValueWei, want[i])
			}
		}
		text := table(t, Bids, rows.bids[:1])
		for _, cell := range []string{"slot=7567001 ", "received_at=1697628036001000 ", "observed_at=1697628040123000 ",
			"relay=ultrasound ", "source=xatu ", "block_hash=0xabab", "builder_pubkey=0xcdcd"} {
			if !strings.Contains(text, cell) {
				t.Errorf("no %q in %s", cell, text)
			}
		}
		rows, err = readParquet(xatuFile(t, true, values...))
		if err != nil || len(rows.deliveries) != len(want) || rows.deliveries[2].ValueWei.String() != want[2] {
			t.Errorf("%q: %v, %d deliveries", order, err, len(rows.deliveries))
		}
	}
}

// Where the order cannot be known the file is refused, and no number is guessed.
func TestXatuUnknownByteOrder(t *testing.T) {
	if _, err := readParquet(xatuFile(t, false, "5", "7be")); !errors.Is(err, errMixedOrders) {
		t.Errorf("mixed orders: %v", err)
	}
	two255 := new(big.Int).Lsh(big.NewInt(1), 255)
	both := new(big.Int).Add(two255, big.NewInt(1)).String()
	if _, err := readParquet(xatuFile(t, false, both)); !errors.Is(err, errNoOrder) {
		t.Errorf("no order: %v", err)
	}
	rows, err := readParquet(xatuFile(t, false, "5", both, "6"))
	if err != nil || len(rows.bids) != 2 || len(rows.bad) != 1 || !strings.HasPrefix(rows.bad[0], "2: value: more than") {
		t.Errorf("one value too high: %v, %d bids, %q", err, len(rows.bids), rows.bad)
	}
}

func TestXatuOfAnotherNetwork(t *testing.T) {
	content := bytes.ReplaceAll(xatuFile(t, false, "5"), []byte("mainnet"), []byte("holesky"))
	rows, err := readParquet(content)
	if err != nil || len(rows.bids) != 0 || len(rows.bad) != 1 ||
		!strings.Contains(rows.bad[0], `of the network "holesky"`) {
		t.Errorf("%v, %d bids, %q", err, len(rows.bids), rows.bad)
	}
}

// Other tables are refused with their columns.
func TestOtherParquet(t *testing.T) {
	other := parquetFile(t, 1, []testColumn{
		{"slot", parquet.Types.Int64, schema.NoLogicalType{}, -1, []int64{7}},
		{"builder", parquet.Types.Int64, schema.NoLogicalType{}, -1, []int64{8}},
	})
	if _, err := readParquet(other); !errors.Is(err, ErrNotRecognised) ||
		!strings.Contains(err.Error(), "with the columns builder, slot;") {
		t.Error(err)
	}
	if _, err := readParquet([]byte("PAR1 and no more")); err == nil {
		t.Error("a file that ends was read")
	}
}

// A file with any byte changed is read, or refused with an error: it never ends the program.
func TestDamagedParquet(t *testing.T) {
	for name, content := range map[string][]byte{
		"bids": xatuFile(t, false, "1", "2", "3"), "lists": []byte(testdata(t, "mempool-dumpster.parquet")),
	} {
		refused := 0
		for i := range content {
			damaged := bytes.Clone(content)
			damaged[i] ^= 0xff
			rows, err := readParquet(damaged)
			if err != nil {
				refused++
			}
			if got := len(rows.bids) + len(rows.transactions) + len(rows.bad); err == nil && got != 3 {
				t.Errorf("%s, byte %d changed: %d rows and no error", name, i, got)
			}
		}
		if refused == 0 {
			t.Errorf("%s: nothing was refused", name)
		}
	}
}
