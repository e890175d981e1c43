package dataset

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// Cells of text are numbers in a dictionary while few are different, and themselves if many are;
// null among them stays null. The least and the greatest cell are those of all rows.
func TestDictionaries(t *testing.T) {
	for name, distinct := range map[string]int{"one": 1, "few": 40, "most": maxDictionary, "too many": maxDictionary + 1,
		"none": 0} {
		t.Run(name, func(t *testing.T) {
			var rows []*Bid
			least, greatest := "", ""
			for i := range 3 * (maxDictionary + 1) {
				b := &Bid{Slot: Int{1, true}, SlotStart: Time{mainnet.startMicros(1), true}, BlockNumber: Int{int64(i), true}}
				if distinct > 0 && i%3 > 0 {
					n := i / 3 % distinct
					b.Relay, b.Builder = Text(fmt.Sprintf("relay-%d", n)), Key{[48]byte{byte(n), byte(n >> 8)}, true}
					if text := string(b.Relay); least == "" || text < least {
						least = text
					}
					greatest = max(greatest, string(b.Relay))
				}
				rows = append(rows, b)
			}
			want := copies(rows)
			var out bytes.Buffer
			w, err := NewWriter(Bids, mainnet, &out)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if err := w.Write(row); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for i, got := range rowsOf(t, out.Bytes()) {
				if !reflect.DeepEqual(got, want[i]) {
					t.Fatalf("row %d came back as\n%+v, and was\n%+v", i, got, want[i])
				}
			}
			encoding, low, high, nulls := relayColumn(t, out.Bytes())
			if numbered := distinct > 0 && distinct <= maxDictionary; numbered && encoding != parquet.Encodings.RLEDict {
				t.Errorf("%d different cells are written as %v", distinct, encoding)
			}
			if low != least || high != greatest {
				t.Errorf("cells go from %q to %q, not from %q to %q", low, high, least, greatest)
			}
			wantNulls := int64(maxDictionary + 1)
			if distinct == 0 {
				wantNulls *= 3
			}
			if nulls != wantNulls {
				t.Errorf("%d cells are null, not %d", nulls, wantNulls)
			}
		})
	}
}

// relayColumn is what a file says of its first rows' column `relay`.
func relayColumn(t *testing.T, raw []byte) (encoding parquet.Encoding, low, high string, nulls int64) {
	t.Helper()
	in, err := file.NewParquetReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	at := in.MetaData().Schema.ColumnIndexByName("relay")
	chunk, err := in.MetaData().RowGroup(0).ColumnChunk(at)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := chunk.Statistics()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := in.RowGroup(0).GetColumnPageReader(at)
	if err != nil {
		t.Fatal(err)
	}
	for pages.Next() {
		if page, is := pages.Page().(*file.DataPageV1); is {
			encoding = parquet.Encoding(page.Encoding())
			break
		}
	}
	texts := stats.(*metadata.ByteArrayStatistics)
	if texts.HasMinMax() {
		low, high = string(texts.Min()), string(texts.Max())
	}
	return encoding, low, high, texts.NullCount()
}
