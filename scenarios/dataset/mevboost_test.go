package dataset

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/gavel-relay/gavel/internal/golden"
)

// The rows of real files, whose types differ: a bid of each relay that had the winning block, and a
// delivery of each that delivered it. Blocks that were built locally are told, and are neither.
func TestMevboostData(t *testing.T) {
	for name, want := range map[string]struct{ bids, deliveries, local int }{
		"mevboost-18376893.parquet": {38, 30, 1}, "mevboost-19580000.parquet": {50, 50, 0},
	} {
		rows, err := readParquet([]byte(testdata(t, name)))
		if err != nil || len(rows.bids) != want.bids || len(rows.deliveries) != want.deliveries ||
			len(rows.bad) != want.local {
			t.Fatalf("%s: %v, %d bids, %d deliveries, bad %q", name, err, len(rows.bids), len(rows.deliveries), rows.bad)
		}
		for _, bad := range rows.bad {
			if !strings.HasSuffix(bad, errLocal.Error()) {
				t.Errorf("%s: %s", name, bad)
			}
		}
		golden.File(t, "testdata/"+name+".rows", table(t, Bids, rows.bids[:3])+table(t, Deliveries, rows.deliveries[:3]))
	}
}

// A row whose time in the slot is another one on this network is bad.
func TestMevboostOfAnotherNetwork(t *testing.T) {
	one := func(slotMs, received int64, flag int64, relay string) []byte {
		text := func(s string) []parquet.ByteArray { return []parquet.ByteArray{[]byte(s)} }
		number := func(name string, n int64) testColumn {
			return testColumn{name, parquet.Types.Int64, schema.NoLogicalType{}, -1, []int64{n}}
		}
		word := func(name, s string) testColumn {
			return testColumn{name, parquet.Types.ByteArray, schema.NoLogicalType{}, -1, text(s)}
		}
		return parquetFile(t, 1, []testColumn{
			number("slot", 7567001), number("block_number", 1), word("block_hash", "0x"+strings.Repeat("ab", 32)),
			word("value", "7"), word("relay", relay), number("payload_delivered", flag), number("slot_time_ms", slotMs),
			word("builder_pubkey", "0x"+strings.Repeat("ab", 48)), number("bid_timestamp_ms", received),
		})
	}
	const start = 1697628035000
	for _, c := range []struct {
		content []byte
		bad     string
	}{
		{one(12108, start+108, 1, "flashbots"), ""},
		{one(12107, start+108, 1, "flashbots"), "1: slot_time_ms is 12107, and on mainnet it would be 12108"},
		{one(12108, start+108+1e9, 1, "flashbots"), "1: received_at is more than a day away"},
		{one(12108, start+108, 2, "flashbots"), "1: payload_delivered: neither true nor false"},
		{one(12108, -1, 1, "flashbots"), "1: bid_timestamp_ms: not a number"},
		{one(12108, start+108, 1, ""), "1: " + errLocal.Error()},
	} {
		rows, err := readParquet(c.content)
		good := 1
		if c.bad != "" {
			good = 0
		}
		if err != nil || len(rows.bids) != good || len(rows.deliveries) != good ||
			!strings.HasPrefix(strings.Join(rows.bad, "|"), c.bad) || len(rows.bad) != 1-good {
			t.Errorf("%q: %v, %d bids, %q", c.bad, err, len(rows.bids), rows.bad)
		}
	}
	full := errors.New("full")
	in := strings.NewReader(string(one(12108, start+108, 1, "x")))
	if err := mevboostBlocks.ReadParquet(in, Origin{Network: mainnet}, failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
}

// failing is a sink that takes nothing.
type failing struct{ err error }

func (f failing) Row(int64, any) error           { return f.err }
func (f failing) Bad(int64, string, error) error { return f.err }
func (f failing) Note(string) error              { return f.err }
