package dataset

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Registrations as ClickHouse writes them, and what cannot be one.
func TestXatuRegistrations(t *testing.T) {
	file := func(index, slot int, seen int64, network, recipient string) []byte {
		text := func(name, cell string) testColumn {
			return testColumn{name, parquet.Types.ByteArray, schema.NoLogicalType{}, -1, []parquet.ByteArray{[]byte(cell)}}
		}
		number := func(name string, n int) testColumn {
			return testColumn{name, parquet.Types.Int32, schema.NewIntLogicalType(32, false), -1, n}
		}
		return parquetFile(t, 1, []testColumn{
			number("slot", slot), text("relay_name", "ultrasound"), number("timestamp", 1606824100),
			number("validator_index", index), number("gas_limit", 36_000_000), text("fee_recipient", recipient),
			text("meta_network_name", network), {"event_date_time", parquet.Types.Int64,
				schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), -1, []int64{seen}},
		})
	}
	const seen = 1697628040123
	recipient := "0x" + strings.Repeat("ab", 20)
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{file(7, 7567001, seen, "mainnet", recipient), "slot=7567001 slot_start=1697628035000000 " +
			"signed_at=1606824100000000 observed_at=1697628040123000 source=xatu relay=ultrasound validator_index=7 " +
			"gas_limit=36000000 fee_recipient=" + recipient + " \n"},
		{file(7, 7567001, seen, "holesky", recipient), `1: the row is of the network "holesky"`},
		{file(7, 7567001, seen, "mainnet", "0xab"), `1: fee_recipient: "0xab" is not 0x and 40 hexadecimal digits`},
		{file(7, 1, seen, "mainnet", recipient), "1: observed_at is more than a day away from the start of slot 1"},
	} {
		rows, err := readParquet(c.content)
		got := table(t, Registrations, rows.registrations) + strings.Join(rows.bad, "|")
		if err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %q in place of %q", err, got, c.want)
		}
	}
	if err := (&Registration{Slot: Int{1, true}}).check(mainnet); err == nil {
		t.Error("a registration of nobody is one")
	}
}
