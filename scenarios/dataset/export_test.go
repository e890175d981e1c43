package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exported writes rows in a format and reads the file again.
func exported[R any](t *testing.T, how Outgoing[R], rows []*R) (counts Exported, got collected,
	format string) {
	t.Helper()
	var file bytes.Buffer
	w, err := newExportWriter(how, mainnet, &file)
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
	raw := file.Bytes()
	in := bytes.NewReader(raw)
	from := Origin{Network: mainnet}
	var f *Format
	if IsParquet(raw) {
		if f, err = RecogniseParquet(in); err == nil {
			err = f.ReadParquet(in, from, &got)
		}
	} else if f, err = Recognise(raw[:min(len(raw), HeadBytes)]); err == nil {
		err = f.Read(in, from, &got)
	}
	if err != nil {
		t.Fatalf("read %s again: %v", how.File, err)
	}
	return w.counts, got, f.Name
}

// told is what a format says of rows, and how many cells of each column it does not say.
func told[R any](how Outgoing[R], rows []*R) (all []*R, left int64, lost map[string]int64) {
	table := how.Table
	lost = map[string]int64{}
	for _, row := range rows {
		one, why := how.Tell(*row)
		if why != "" {
			left++
			continue
		}
		for _, c := range table.Columns {
			if show(c.Cell(row)) != show(c.Cell(&one)) {
				lost[c.Name]++
			}
		}
		all = append(all, &one)
	}
	return table.Sort(all), left, lost
}

// outgoing is how a format writes a table; it has no File if the format has no such table.
func outgoing[R any](f *ExportFormat, of *Table[R]) Outgoing[R] {
	for _, one := range f.Tables {
		if how, ok := one.(Outgoing[R]); ok && how.Table == of {
			return how
		}
	}
	return Outgoing[R]{Table: of}
}

func sum(counts map[string]int64) (n int64) {
	for _, one := range counts {
		n += one
	}
	return n
}

// Whatever rows are exported, importing the file gives what the format says of them, and the rows
// and cells that it does not say are counted.
func TestExportRoundTrip(t *testing.T) {
	for _, f := range Exports {
		if f.Refusal != "" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				rows := rapid.SliceOfN(rapid.Custom(anyBid), 0, 8).Draw(rt, "bids")
				counts, got, format := exported(t, outgoing(f, Bids), rows)
				want, left, lost := told(outgoing(f, Bids), rows)
				for _, row := range got.bids {
					if row.Source = "s"; f.Name != format {
						rt.Fatalf("it is read as %s", format)
					}
				}
				if a, b := table(t, Bids, Bids.Sort(got.bids)), table(t, Bids, want); a != b || len(got.bad) > 0 {
					rt.Fatalf("got\n%swant\n%sbad rows: %q", a, b, got.bad)
				}
				if sum(counts.LeftOut) != left || fmt.Sprint(counts.Lost) != fmt.Sprint(lost) ||
					counts.Rows != int64(len(rows))-left {
					rt.Fatalf("counted %+v, want %d left out and lost %v", counts, left, lost)
				}
				if outgoing(f, Deliveries).File == "" {
					return
				}
				delivered := rapid.SliceOfN(rapid.Custom(anyDelivery), 0, 8).Draw(rt, "deliveries")
				_, got, _ = exported(t, outgoing(f, Deliveries), delivered)
				wanted, _, _ := told(outgoing(f, Deliveries), delivered)
				for _, row := range got.deliveries {
					row.Source = "s"
				}
				if a, b := table(t, Deliveries, Deliveries.Sort(got.deliveries)), table(t, Deliveries, wanted); a != b ||
					len(got.bad) > 0 || len(got.bids) > 0 {
					rt.Fatalf("got\n%swant\n%sbad rows: %q", a, b, got.bad)
				}
			})
		})
	}
}

// anyCell draws null or a value that an archive can have.
func anyCell(t *rapid.T, name string, cell any, start int64) {
	if !rapid.Bool().Draw(t, name+" is known") {
		return
	}
	switch v := cell.(type) {
	case *Int:
		*v = Int{rapid.Int64Min(0).Draw(t, name), true}
	case *Time:
		unit := rapid.SampledFrom([]int64{1, 1000, 1e6}).Draw(t, name+" unit")
		*v = Time{start + rapid.Int64Range(-3e6/unit, 9e6/unit).Draw(t, name)*unit, true}
	case *Bool:
		*v = Bool{rapid.Bool().Draw(t, name), true}
	case *Wei:
		*v = anyWei(t)
	case *Hash:
		v.V, v.Known = [32]byte{rapid.Byte().Draw(t, name)}, true
	case *Key:
		v.V, v.Known = [48]byte{47: rapid.Byte().Draw(t, name)}, true
	case *Address:
		v.V, v.Known = [20]byte{rapid.Byte().Draw(t, name)}, true
	}
}

func anyWei(t *rapid.T) Wei {
	return Wei{rapid.Uint64Max(maxWeiHi-1).Draw(t, "hi"), rapid.Uint64().Draw(t, "lo"), true}
}

var anyName = rapid.SampledFrom([]string{
	"", "ultrasound", `a,b`, "a\nb", `"`, "<script>alert(1)</script>", "=1+1", "ä\t",
})

func anyBid(t *rapid.T) *Bid {
	b := &Bid{}
	slot := rapid.Int64Range(7567001, 7567003).Draw(t, "slot")
	start := mainnet.startMicros(slot)
	for _, c := range Bids.Columns {
		anyCell(t, c.Name, c.Cell(b), start)
	}
	b.Slot, b.SlotStart, b.ValueWei, b.Source = Int{slot, true}, Time{start, true}, anyWei(t), "s"
	b.ReceivedUnitUs = Int{}
	if b.ReceivedAt.Known {
		b.ReceivedUnitUs = rapid.SampledFrom([]Int{{}, {1, true}, {1000, true}, {1e6, true}}).Draw(t, "unit")
	}
	b.Relay = Text(anyName.Draw(t, "relay"))
	b.Kind = rapid.SampledFrom([]Text{Submission, TopStream, HeaderPoll, "other"}).Draw(t, "kind")
	b.Refusal = Text(rapid.SampledFrom([]string{"", "", "submission-floor"}).Draw(t, "refusal"))
	return b
}

func anyDelivery(t *rapid.T) *Delivery {
	d := &Delivery{}
	slot := rapid.Int64Range(7567001, 7567003).Draw(t, "slot")
	start := mainnet.startMicros(slot)
	for _, c := range Deliveries.Columns {
		anyCell(t, c.Name, c.Cell(d), start)
	}
	d.Slot, d.SlotStart, d.ValueWei, d.Source = Int{slot, true}, Time{start, true}, anyWei(t), "s"
	d.Relay = Text(anyName.Draw(t, "relay"))
	return d
}

// A CSV whose quote is never closed ends with an error, and takes no more memory than a record may.
func TestEndlessRecord(t *testing.T) {
	header := strings.Join(Bids.names(), ",")
	if _, _, err := read(t, header+"\n\""+strings.Repeat("x", 4*maxRecordBytes)); !errors.Is(err, errLongLine) {
		t.Error(err)
	}
}

func TestExportNamed(t *testing.T) {
	for name, want := range map[string]string{
		"mempool-dumpster": "a data set has bids and deliveries only",
		"excel":            "choose one of relayscan, data-api, xatu, parquet, csv",
	} {
		if _, err := ExportNamed(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
