package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// readChecked reads a file of xatu's against what was delivered.
func readChecked(content []byte, delivered func(int64, Hash) ([]Wei, error)) (rows collected, err error) {
	f, err := RecogniseParquet(bytes.NewReader(content))
	if err != nil {
		return rows, err
	}
	return rows, f.ReadParquet(bytes.NewReader(content), Origin{Network: mainnet, Delivered: delivered}, &rows)
}

// How the byte order is known is told: by the delivered values that the file has, too, or without
// any to compare with.
func TestByteOrderIsChecked(t *testing.T) {
	seven := func(int64, Hash) ([]Wei, error) { return []Wei{{Lo: 8, Known: true}, {Lo: 7, Known: true}}, nil }
	for _, c := range []struct {
		name      string
		values    []string
		delivered func(int64, Hash) ([]Wei, error)
		note      string
	}{
		{"little", []string{"5", "7"}, seven, "first: 1 of 1 delivered blocks have the delivered value"},
		{"big", []string{"5be", "7be"}, seven, "last: 1 of 1 delivered blocks have the delivered value"},
		{"one that differs", []string{"5"}, seven, "first: 0 of 1 delivered blocks have the delivered value"},
		{"none delivered", []string{"5"}, func(int64, Hash) ([]Wei, error) { return nil, nil },
			"first: in the other order no amount is possible; the data set has none of the blocks as delivered"},
		{"no data set", []string{"5be"}, nil, "none of the blocks as delivered"},
		{"zeros", []string{"0", "0"}, seven, ""},
	} {
		rows, err := readChecked(xatuFile(t, false, c.values...), c.delivered)
		if err != nil || len(rows.bids) != len(c.values) || !strings.Contains(strings.Join(rows.notes, "|"), c.note) {
			t.Errorf("%s: %v, %d bids, %q", c.name, err, len(rows.bids), rows.notes)
		}
	}
}

// A file in which no delivered block has the delivered value is refused: its values are in another
// unit, or of something else. So is a data set that cannot be read.
func TestValuesThatWereNotDelivered(t *testing.T) {
	seen := orders{rows: 20, little: 20, delivered: map[Hash]bool{}}
	for i := range fewDelivered {
		seen.delivered[Hash{V: [32]byte{byte(i)}}] = false
	}
	if _, _, err := seen.decide(); !errors.Is(err, errNotDelivered) {
		t.Error(err)
	}
	broken := errors.New("broken")
	_, err := readChecked(xatuFile(t, false, "5"), func(int64, Hash) ([]Wei, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	text := fmt.Sprint(noBytes, "; ", littleEndian, "; ", bigEndian)
	if text != "is no bytes; has the least byte first; has the least byte last" {
		t.Error(text)
	}
}
