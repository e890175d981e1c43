package dataset

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bids draws a few bids, some of which agree in all but the moment at which they were seen.
func bids(t *rapid.T, label string) []*Bid {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Bid {
		b := &Bid{
			Slot:      Int{rapid.Int64Range(1, 3).Draw(t, "slot"), true},
			ValueWei:  Wei{rapid.Uint64Max(maxWeiHi-1).Draw(t, "hi"), rapid.Uint64().Draw(t, "lo"), true},
			BlockHash: Hash{[32]byte{rapid.Byte().Draw(t, "hash")}, rapid.Bool().Draw(t, "has hash")},
			Relay:     Text(rapid.SampledFrom([]string{"", "a", "bloxroute.max-profit.blxrbdn.com"}).Draw(t, "relay")),
			Source:    "relayscan", Optimistic: Bool{V: true, Known: rapid.Bool().Draw(t, "optimistic")},
			ObservedAt: Time{rapid.Int64Range(0, 3).Draw(t, "seen"), rapid.Bool().Draw(t, "was seen")},
			Builder:    Key{[48]byte{1, 2}, true}, FeeRecipient: Address{[20]byte{3}, true},
		}
		if rapid.Bool().Draw(t, "plain") {
			b.ValueWei, b.BlockHash, b.Relay, b.Optimistic = Wei{Lo: 1, Known: true}, Hash{}, "", Bool{}
		}
		for _, v := range []any{&b.BlockHash, &b.ObservedAt, &b.Optimistic} { // null is the zero value
			switch v := v.(type) {
			case *Hash:
				if !v.Known {
					*v = Hash{}
				}
			case *Time:
				if !v.Known {
					*v = Time{}
				}
			case *Bool:
				if !v.Known {
					*v = Bool{}
				}
			}
		}
		b.SlotStart = Time{mainnet.startMicros(b.Slot.V), true}
		return b
	}), 0, 30).Draw(t, label)
}

func copies(rows []*Bid) []*Bid {
	var out []*Bid
	for _, r := range rows {
		c := *r
		out = append(out, &c)
	}
	return out
}

// merged is the file that comes of merging rows into a file, which is nil if there is none.
func merged(t testing.TB, old []byte, rows []*Bid) ([]byte, Merged) {
	t.Helper()
	var reader *Reader[Bid]
	if old != nil {
		var err error
		if reader, err = NewReader(Bids, mainnet, bytes.NewReader(old)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w, err := NewWriter(Bids, mainnet, &out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Merge(Bids, reader, Bids.Sort(copies(rows)), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m
}

func rowsOf(t testing.TB, file []byte) []*Bid {
	t.Helper()
	r, err := NewReader(Bids, mainnet, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var rows []*Bid
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
}

// What is written is read again, every cell of it.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := bids(rt, "rows")
		file, _ := merged(t, nil, rows)
		want := Bids.Sort(copies(rows))
		if got := rowsOf(t, file); table(t, Bids, got) != table(t, Bids, want) {
			rt.Errorf("got\n%swant\n%s", table(t, Bids, got), table(t, Bids, want))
		}
	})
}

// A file is a set: merging is the same in any order and any number of times, to the byte.
func TestMergeIsUnion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := bids(rt, "a"), bids(rt, "b")
		first, _ := merged(t, nil, a)
		ab, m := merged(t, first, b)
		other, _ := merged(t, nil, b)
		ba, _ := merged(t, other, a)
		together, all := merged(t, nil, slices.Concat(a, b))
		again, none := merged(t, ab, b)
		if !bytes.Equal(ab, ba) || !bytes.Equal(ab, together) || !bytes.Equal(ab, again) {
			rt.Error("the files differ")
		}
		if none.Added != 0 || int(all.Added) != len(rowsOf(t, ab)) || int(m.Added+m.Known) != len(Bids.Sort(copies(b))) {
			rt.Errorf("counted %+v, %+v and %+v", m, all, none)
		}
	})
}

// A file of more rows than a row group has and than a reader takes at a time.
func TestManyRows(t *testing.T) {
	rows := make([]*Bid, groupRows+batchRows+7)
	for i := range rows {
		rows[i] = &Bid{Slot: Int{1, true}, SlotStart: Time{1, true}, ValueWei: Wei{Lo: uint64(i), Known: true}}
	}
	file, _ := merged(t, nil, rows)
	got := rowsOf(t, file)
	if len(got) != len(rows) {
		t.Fatalf("%d rows in place of %d", len(got), len(rows))
	}
	for i, row := range got {
		if row.ValueWei.Lo != uint64(i) {
			t.Fatalf("row %d has the value %d", i, row.ValueWei.Lo)
		}
	}
}

// A file of another table, network or version is not read as one of this.
func TestReaderRefusesOthers(t *testing.T) {
	file, _ := merged(t, nil, []*Bid{{Slot: Int{1, true}}})
	if _, err := NewReader(Bids, Networks[1], bytes.NewReader(file)); err == nil {
		t.Error("a file of mainnet was read as one of sepolia")
	}
	if _, err := NewReader(Deliveries, mainnet, bytes.NewReader(file)); err == nil {
		t.Error("bids were read as deliveries")
	}
	if _, err := NewReader(Bids, Network{}, bytes.NewReader(file)); err != nil {
		t.Errorf("a file of any network was wanted: %v", err)
	}
	for end := range len(file) {
		r, err := NewReader(Bids, mainnet, bytes.NewReader(file[:end]))
		if err == nil {
			t.Fatalf("a file cut at %d of %d was opened: %v", end, len(file), r)
		}
	}
}

// Wei agrees with the arithmetic of math/big at every size, and refuses what does not fit.
func TestWei(t *testing.T) {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
	check := func(fail func(string, ...any), n *big.Int) {
		w, err := ParseWei(n.String())
		if fits := n.Cmp(limit) < 0; fits != (err == nil) || fits && w.String() != n.String() {
			fail("%s: %v, %v", n, w, err)
		}
		w, err = weiOfBytes(n.FillBytes(make([]byte, 40)))
		if fits := n.Cmp(limit) < 0; fits != (err == nil) || fits && w.String() != n.String() {
			fail("bytes of %s: %v, %v", n, w, err)
		}
	}
	one := big.NewInt(1)
	for _, n := range []*big.Int{new(big.Int), one, limit, new(big.Int).Sub(limit, one), new(big.Int).Lsh(one, 64),
		new(big.Int).Lsh(one, 128), new(big.Int).Lsh(one, 256)} {
		check(t.Errorf, n)
	}
	rapid.Check(t, func(rt *rapid.T) {
		check(rt.Errorf, new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 34).Draw(rt, "bytes")))
	})
}
