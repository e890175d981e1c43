package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// filledWith is a batch with a bid for each letter: a is in the first hour, b in the second, and x
// a bad row. A place has the rows up to the next space.
func filledWith(t *testing.T, places string, limit int) *batch {
	t.Helper()
	mainnet, err := dataset.NetworkNamed("mainnet")
	if err != nil {
		t.Fatal(err)
	}
	b := &batch{catalogue: &catalogue{Network: mainnet}, input: &Input{}, limit: 1000}
	for i, rows := range strings.Fields(places) {
		for n, row := range rows {
			if row == 'x' {
				err = b.Bad(int64(i+1), "x", errors.New("bad"))
			} else {
				start := mainnet.GenesisTime + 12*300*int64(row-'a')
				err = b.Row(int64(i+1), &dataset.Bid{BlockNumber: dataset.Int{V: int64(n), Known: true},
					SlotStart: dataset.Time{Micros: start * 1e6, Known: true}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.begin(1 << 40); err != nil { // the place after the last one
		t.Fatal(err)
	}
	b.limit = limit
	return b
}

// Of a full batch the rows of the newest hour wait for more, if they are few and nothing older
// comes after them. A place is never split.
func TestBatchKeepsTheNewestHour(t *testing.T) {
	for _, c := range []struct {
		places string
		limit  int
		want   string
	}{
		{"a a a a b", 5, "4 rows up to 4, then 1"},
		{"a a a x b x", 6, "4 rows up to 4, then 2"},
		{"a b a a b", 5, "4 rows up to 4, then 1"},
		{"a a a b a", 5, "5 rows up to 5, then 0"},
		{"a a aab b", 6, "5 rows up to 3, then 1"},
		{"a a a ba b", 6, "5 rows up to 4, then 1"},
		{"a a b b b", 5, "5 rows up to 5, then 0"}, // they are many
		{"a a a a a", 5, "5 rows up to 5, then 0"},
		{"x x x x x", 5, "5 rows up to 5, then 0"},
		{"a a a b c", 5, "4 rows up to 4, then 1"},
	} {
		b := filledWith(t, c.places, c.limit)
		all := b.rows
		full := b.split(b.complete())
		got := fmt.Sprintf("%d rows up to %d, then %d", full.rows, full.at, b.rows)
		if got != c.want || full.rows+b.rows != all {
			t.Errorf("%s: %s, want %s", c.places, got, c.want)
		}
		if lines := int64(strings.Count(full.bad.String(), "\n")); lines != full.badRows ||
			int64(strings.Count(b.bad.String(), "\n")) != b.badRows {
			t.Errorf("%s: %d bad rows of %d", c.places, lines, full.badRows)
		}
		if int64(len(b.order)) != b.rows-b.badRows {
			t.Errorf("%s: the places of %d rows are left of %d", c.places, len(b.order), b.rows)
		}
	}
}
