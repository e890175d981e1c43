package dataset

import (
	"bytes"
	"testing"
)

// A version that lacks a column reads files that have it, and this version reads files that lack
// it: rows of both are in one file then, and those of before have null there.
func TestFilesOfOtherVersions(t *testing.T) {
	before := *Bids
	before.Columns = before.Columns[:len(before.Columns)-1]
	bid := func(n int64, worth Wei) *Bid {
		return &Bid{Slot: Int{n, true}, SlotStart: Time{mainnet.startMicros(n), true}, Source: "run", WorthWei: worth,
			ValueWei: Wei{Lo: uint64(n), Known: true}}
	}
	var old bytes.Buffer
	w, err := NewWriter(&before, mainnet, &old)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(bid(1, Wei{})); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	both, m := merged(t, old.Bytes(), []*Bid{bid(1, Wei{}), bid(2, Wei{Lo: 7, Known: true})})
	if m.Added != 1 || m.Known != 1 {
		t.Errorf("%+v: the row of before is not the same row", m)
	}
	rows := rowsOf(t, both)
	if len(rows) != 2 || rows[0].WorthWei.Known || rows[1].WorthWei != (Wei{Lo: 7, Known: true}) {
		t.Errorf("%+v", rows)
	}
	reader, err := NewReader(&before, mainnet, bytes.NewReader(both))
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= 2; n++ {
		if row, err := reader.Next(); err != nil || row.Slot.V != n || row.WorthWei.Known {
			t.Errorf("row %d by the version before: %+v, %v", n, row, err)
		}
	}
}
