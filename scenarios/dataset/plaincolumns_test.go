package dataset

import (
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// plainFile is a Parquet file of one row: numbers, texts, and amounts as BigQuery's NUMERIC.
func plainFile(t *testing.T, cells map[string]any) []byte {
	t.Helper()
	var columns []testColumn
	for _, name := range []string{"slot", "number", "relay", "block_hash", "builder_pubkey", "value", "bid_value",
		"block_value", "timestamp_ms", "timestamp_s", "reorged"} {
		switch cell := cells[name].(type) {
		case int:
			columns = append(columns, testColumn{name, parquet.Types.Int64, schema.NoLogicalType{}, -1, []int64{int64(cell)}})
		case string:
			columns = append(columns, testColumn{
				name, parquet.Types.ByteArray, schema.NoLogicalType{}, -1, []parquet.ByteArray{[]byte(cell)},
			})
		case *big.Int:
			columns = append(columns, testColumn{
				name, parquet.Types.FixedLenByteArray, schema.NewDecimalLogicalType(38, 9), 16,
				[]parquet.FixedLenByteArray{cell.FillBytes(make([]byte, 16))},
			})
		}
	}
	return parquetFile(t, 1, columns)
}

// numeric is an amount in units of 10^-9, as BigQuery keeps a NUMERIC.
func numeric(text string) *big.Int {
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

var (
	anyHash = "0x" + strings.Repeat("ab", 32)
	anyKey  = "0x" + strings.Repeat("cd", 48)
)

// Tables with the Data API's fields as columns, and what is wrong in their rows.
func TestPlainColumns(t *testing.T) {
	const ms = 1697628036001
	for _, c := range []struct {
		name   string
		cells  map[string]any
		format string
		want   string
	}{
		{"Eden's bid", map[string]any{
			"slot": 7567001, "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"value": numeric("60154123185870503000000000"), "timestamp_ms": ms, "timestamp_s": ms / 1000,
		}, "eden", "bid 60154123185870503 flashbots 1697628036001000"},
		{"Eden's bid in text", map[string]any{
			"slot": "7567001", "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"value": "60154123185870503", "timestamp_ms": ms, "timestamp_s": ms / 1000,
		}, "eden", "bid 60154123185870503 flashbots 1697628036001000"},
		{"parts of a wei", map[string]any{
			"slot": 7567001, "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"value": numeric("60154123185870503000000001"), "timestamp_ms": ms, "timestamp_s": ms / 1000,
		}, "eden", "bad 1: value: not a whole number of wei"},
		{"two times", map[string]any{
			"slot": 7567001, "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"value": "7", "timestamp_ms": ms, "timestamp_s": ms/1000 + 1,
		}, "eden", "bad 1: timestamp_s is 1697628037, and timestamp_ms 1697628036001"},
		{"another network", map[string]any{
			"slot": 1, "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"value": "7", "timestamp_ms": ms, "timestamp_s": ms / 1000,
		}, "eden", "bad 1: received_at is more than a day away"},
		{"Eden's payload", map[string]any{
			"slot": 7567001, "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"value": numeric("7000000000"), "reorged": 0,
		}, "eden", "delivery 7 flashbots"},
		{"Dataverse's bid", map[string]any{
			"slot": 7567001, "builder_pubkey": anyKey, "value": "7", "timestamp_ms": ms,
		}, "dataverse", "bid 7 given 1697628036001000"},
		{"Dataverse's block", map[string]any{
			"slot": 7567001, "number": 18376902, "relay": "flashbots", "block_hash": anyHash, "builder_pubkey": anyKey,
			"bid_value": "7", "block_value": "8",
		}, "dataverse", "delivery 7 flashbots"},
		{"a local block", map[string]any{
			"slot": 7567001, "number": 18376902, "relay": "", "block_hash": anyHash, "builder_pubkey": "",
			"bid_value": "", "block_value": "8",
		}, "dataverse", "bad 1: no relay: the block was built locally"},
		{"no value", map[string]any{
			"slot": 7567001, "builder_pubkey": anyKey, "value": "", "timestamp_ms": ms,
		}, "dataverse", "bad 1: value: empty"},
	} {
		content := plainFile(t, c.cells)
		f, err := RecogniseParquet(strings.NewReader(string(content)))
		if err != nil || f.Name != c.format {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var rows collected
		err = f.ReadParquet(strings.NewReader(string(content)), Origin{Network: mainnet, Relay: "given"}, &rows)
		got := ""
		for _, b := range rows.bids {
			got += "bid " + b.ValueWei.String() + " " + string(b.Relay) + " " + show(&b.ReceivedAt)
		}
		for _, d := range rows.deliveries {
			got += "delivery " + d.ValueWei.String() + " " + string(d.Relay)
		}
		for _, bad := range rows.bad {
			got += "bad " + bad
		}
		if err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %v, %q in place of %q", c.name, err, got, c.want)
		}
	}
}

// In CSV the same rows are read whatever the order of their columns.
func TestPlainCSV(t *testing.T) {
	name, rows, err := read(t, testdata(t, "eden-7567002.csv"))
	_, want, _ := read(t, testdata(t, "eden-7567002.ndjson"))
	if err != nil || name != "eden" || table(t, Bids, rows.bids) != table(t, Bids, want.bids) || len(rows.bad) > 0 {
		t.Errorf("%s: %v, bad %q\n%s", name, err, rows.bad, table(t, Bids, rows.bids))
	}
	const columns = "slot,builder_pubkey,value,timestamp_ms"
	for content, want := range map[string]string{
		columns + "\n7567001," + anyKey + ",7,\n":                   "2: timestamp_ms: empty",
		columns + "\n7567001,x\n":                                   "2: 2 fields in place of 4",
		columns + "\n7567001,x,7,1697628036001\n":                   "2: builder_pubkey: ",
		columns + ",optimistic_submission\n1,x,7,1,2\n":             "2: optimistic_submission: ",
		columns + "\n7567001," + anyKey + ",7.5,1697628036001\n":    "2: value: \"7.5\" is no decimal",
		columns + ",slot\n7567001," + anyKey + ",7,1697628036001,1": errTwoColumns.Error(),
	} {
		_, rows, err := read(t, content)
		got := strings.Join(rows.bad, "|")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || len(rows.bids) > 0 {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	_, rows, err = read(t, "slot,builder_pubkey,value,relay,reorged,block_timestamp\n"+
		"7567001,"+anyKey+",7,ours,false,x\r\n")
	if err != nil || len(rows.deliveries) != 1 || rows.deliveries[0].Relay != "ours" {
		t.Errorf("a payload: %v, %d, %q", err, len(rows.deliveries), rows.bad)
	}
}

// Whatever CSV has, each record is a row or bad.
func FuzzPlainCSV(f *testing.F) {
	f.Add(testdata(f, "eden-7567002.csv"))
	f.Add("slot,builder_pubkey,value,timestamp_ms\n\"1\n\",\n")
	f.Fuzz(func(t *testing.T, content string) {
		_, rows, _ := read(t, content)
		for _, b := range rows.bids {
			if !b.Slot.Known || !b.ValueWei.Known || !b.SlotStart.Known {
				t.Errorf("%+v", b)
			}
		}
	})
}
