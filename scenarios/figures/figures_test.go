package figures

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

const startUs = 1_697_628_035_000_000 // 2023-10-18T11:20:35Z

func key(name byte) [48]byte { return [48]byte{name} }

func hash(name byte) [32]byte { return [32]byte{name} }

// bid is a bid of a builder, for a block of the same name, in milliseconds and milliether.
func bid(name byte, ms, milliEther int64) backtest.CourseBid {
	return backtest.CourseBid{
		Builder: key(name), Block: hash(name), ValueWei: milli(milliEther), ReceivedUs: ms * 1000, EnterUs: ms * 1000,
	}
}

func lead(name byte, ms, milliEther int64) backtest.CourseLead {
	return backtest.CourseLead{AtUs: ms * 1000, Builder: key(name), Block: hash(name), ValueWei: milli(milliEther)}
}

func milli(ether int64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(uint64(ether)), uint256.NewInt(1e15))
}

func milliCell(ether int64) dataset.Wei {
	v := milli(ether)
	return dataset.Wei{Hi: v[1], Lo: v[0], Known: true}
}

// auction is a small auction at relay r. A bids 10, then 30, then lower, 20. B bids 25 in between
// and leads again. The proposer asks at 1 s.
//
//	ms    -1000  0    150  250
//	A     10          30   20
//	B            25
//	leads A 10   B 25 A 30 B 25
func auction(relay string) backtest.Course {
	return backtest.Course{
		Slot: 7, StartUs: startUs, Relay: dataset.Text(relay), AskedUs: 1_000_000,
		Bids:  []backtest.CourseBid{bid('A', -1000, 10), bid('B', 0, 25), bid('A', 150, 30), bid('A', 250, 20)},
		Leads: []backtest.CourseLead{lead('A', -1000, 10), lead('B', 0, 25), lead('A', 150, 30), lead('B', 250, 25)},
		Delivered: &dataset.Delivery{
			ValueWei: milliCell(25), PaidWei: milliCell(24), BlockHash: dataset.Hash{V: hash('B'), Known: true},
			Builder: dataset.Key{V: key('B'), Known: true},
		},
	}
}

func result(variant string, served byte, paid int64) backtest.Result {
	return backtest.Result{
		Variant: dataset.Text(variant), Relay: "r", ServedBlock: dataset.Hash{V: hash(served), Known: true},
		ServedBuilder: dataset.Key{V: key(served), Known: true}, ServedWei: milliCell(25), SecondWei: milliCell(20),
		PaidWei: milliCell(paid),
	}
}

// sampled is the figures of one slot with that auction at one relay.
func sampled(t *testing.T) map[string]Figure {
	t.Helper()
	p := NewPart(0)
	p.Add([]backtest.Course{auction("r")}, []backtest.Result{
		result(backtest.AsArchived, 'B', 25), result("final", 'A', 30), result("model", 'B', 25),
	})
	return byID(p.Figures(map[string][]string{"model": {"price"}}))
}

func byID(all []Figure) map[string]Figure {
	found := map[string]Figure{}
	for _, f := range all {
		found[f.ID] = f
	}
	return found
}

// row is the row of a figure's table that begins with some cells.
func row(t *testing.T, f Figure, begins ...string) string {
	t.Helper()
	want := strings.Join(begins, " ")
	for _, r := range f.Rows {
		if text := strings.Join(r, " "); strings.HasPrefix(text+" ", want+" ") {
			return text
		}
	}
	return "no row " + want
}

// Each figure's numbers are those that a person finds in the auction above.
func TestNumbers(t *testing.T) {
	figures := sampled(t)
	a, b := keyText(key('A')), keyText(key('B'))
	for _, c := range []struct{ id, begins, want string }{
		{"bid-curve", "bid 150", "bid 150 30000000000000000 " + a + " 0x41" + strings.Repeat("00", 31)},
		{"bid-curve", "leads 250", "leads 250 25000000000000000 " + b + " 0x42" + strings.Repeat("00", 31)},
		{"bid-curve", "served", "served 1000 25000000000000000 " + b + " 0x42" + strings.Repeat("00", 31)},
		{"bid-curve", "delivered", "delivered 1000 25000000000000000 " + b + " 0x42" + strings.Repeat("00", 31)},
		{"top-value", "-1100", "-1100 0 0 0 1"},
		{"top-value", "-1000", "-1000 10000000000000000 10000000000000000 10000000000000000 1"},
		{"top-value", "200", "200 30000000000000000 30000000000000000 30000000000000000 1"},
		{"value-of-100-ms", "-100", "-100 15000000000000000 0.015000000 0.015000000 1"},
		{"value-of-100-ms", "200", "200 -5000000000000000 -0.005000000 -0.005000000 1"},
		{"arrival-of-winners", "delivered", "delivered 0 1 1"},
		{"arrival-of-winners", "served", "served in the replay 0 1 1"},
		{"turnover", "100", "100 1 1 1.000000"},
		{"turnover", "300", "300 0 1 0.000000"},
		{"cancellations", "200", "200 1 1 5000000000000000 1"},
		{"cancellations", "100", "100 0 0 0 1"},
		// A led for 1000 + 100 ms of 2000 ms, B for 150 + 750.
		{"builders", a, a + " 3 1 -1000 250 0.550000 0 0   "},
		{"builders", b, b + " 1 1 0 0 0.450000 1 25000000000000000 5000000000000000  "},
		{"promised-and-paid", "7", "7 r 25000000000000000 24000000000000000 -1000000000000000"},
		{"concentration", "2023-10-18T11:00Z", "2023-10-18T11:00Z 1 1 10000 10000"},
		{"what-if", "final", "final 1 5000000000000000 0.005000000 0.005000000 1 no"},
		{"what-if", "model", "model 1 0 0.000000000 0.000000000 0 yes"},
	} {
		if got := row(t, figures[c.id], strings.Fields(c.begins)...); got != c.want {
			t.Errorf("%s: %q, want %q", c.id, got, c.want)
		}
	}
}

// Blocks that are at several relays are counted by the time between the first and the last.
func TestSpread(t *testing.T) {
	one, two := auction("r"), auction("s")
	for i := range two.Bids {
		two.Bids[i].ReceivedUs += 7_500
	}
	two.Bids[1].ReceivedUs += 1_000
	p := NewPart(0)
	p.Add([]backtest.Course{one, two}, nil)
	f := byID(p.Figures(nil))["spread-between-relays"]
	// Of A's block at each relay the first submission counts.
	if got := fmt.Sprint(f.Rows); got != "[[7 1 2] [8 2 2]]" {
		t.Error(got)
	}
}

// Concentration is an index over builders' shares: of two equal ones it is half.
func TestConcentration(t *testing.T) {
	c := newConcentration()
	for name, milliEther := range map[byte]int64{'A': 30, 'B': 10} {
		one := backtest.Course{StartUs: startUs, AskedUs: 1, Leads: []backtest.CourseLead{lead(name, 0, milliEther)}}
		c.add([]backtest.Course{one})
	}
	if got := fmt.Sprint(c.figure().Rows); got != "[[2023-10-18T11:00Z 2 2 5000 6250]]" {
		t.Error(got)
	}
}

// The figures of slots are the same, however they are divided into parts.
func TestMerge(t *testing.T) {
	whole, first, second := NewPart(0), NewPart(0), NewPart(0)
	for i := range 6 {
		course := auction("r")
		course.Slot, course.AskedUs = int64(i), int64(i)*200_000-400_000
		results := []backtest.Result{result(backtest.AsArchived, 'B', 25), result("final", 'A', int64(20+i))}
		whole.Add([]backtest.Course{course}, results)
		if i < 2 {
			first.Add([]backtest.Course{course}, results)
		} else {
			second.Add([]backtest.Course{course}, results)
		}
	}
	merged := NewPart(0)
	merged.Merge(first)
	merged.Merge(second)
	if got, want := fmt.Sprint(merged.Figures(nil)), fmt.Sprint(whole.Figures(nil)); got != want {
		t.Errorf("merged\n%s\nwhole\n%s", got, want)
	}
}

// The bounds hold the mean, are wider for fewer slots, and the same for the same slots.
func TestBootstrap(t *testing.T) {
	slots := func(n int) (all []slotSum) {
		for i := range n {
			all = append(all, slotSum{float64(i % 2), 1})
		}
		return all
	}
	low, high := bootstrap(slots(400))
	fewLow, fewHigh := bootstrap(slots(20))
	againLow, againHigh := bootstrap(slots(400))
	if low >= 0.5 || high <= 0.5 || low < 0.44 || high > 0.56 || fewHigh-fewLow <= high-low {
		t.Errorf("400 slots: %v to %v, 20 slots: %v to %v", low, high, fewLow, fewHigh)
	}
	if low != againLow || high != againHigh {
		t.Error("the same slots have other bounds")
	}
}

// No slots, and slots without bids, have figures that say why there is nothing.
func TestNothing(t *testing.T) {
	empty := NewPart(0)
	empty.Add([]backtest.Course{{Slot: 1, Relay: "r"}}, nil)
	for _, p := range []*Part{NewPart(0), empty} {
		all := p.Figures(nil)
		for _, f := range all {
			if f.Missing == "" || len(f.Rows) > 0 {
				t.Errorf("%s has %d rows, and says %q", f.ID, len(f.Rows), f.Missing)
			}
		}
		var page bytes.Buffer
		if err := WritePage(&page, About{}, all); err != nil {
			t.Error(err)
		}
	}
}

// Amounts of any size are drawn, a series of one point and of thousands, too.
func TestExtremes(t *testing.T) {
	huge := new(uint256.Int).Sub(new(uint256.Int).Lsh(uint256.NewInt(1), 126), uint256.NewInt(1))
	course := backtest.Course{Slot: 7, Relay: "r", AskedUs: 1}
	for i := range 3 * drawnPoints {
		course.Bids = append(course.Bids, backtest.CourseBid{ValueWei: huge, ReceivedUs: int64(i)})
		course.Leads = append(course.Leads, backtest.CourseLead{AtUs: int64(i), ValueWei: huge})
	}
	p := NewPart(7)
	p.Add([]backtest.Course{course}, nil)
	var page bytes.Buffer
	if err := WritePage(&page, About{}, p.Figures(nil)); err != nil {
		t.Fatal(err)
	}
	if f := byID(p.Figures(nil))["bid-curve"]; len(f.Rows) != 6*drawnPoints+1 || f.Rows[0][2] != huge.Dec() {
		t.Errorf("%d rows, the first is %q", len(f.Rows), f.Rows[0])
	}
	if !strings.Contains(page.String(), "Not every point is drawn; all are in bid-curve.csv.") {
		t.Error("the page does not say that points were left away")
	}
}

func TestDocs(t *testing.T) { golden.Section(t, "../../docs/replay.md", "figures", Markdown()) }

const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&$x^2$`

// hostileFigures are figures with names that try to be more than text.
func hostileFigures() []Figure {
	p := NewPart(0)
	p.Add([]backtest.Course{auction(hostile)}, []backtest.Result{
		result(backtest.AsArchived, 'B', 25), result(hostile, 'A', 30),
	})
	addTables(p, hostile)
	return p.Figures(map[string][]string{hostile: {hostile}})
}

// A PNG has the figure's size at its resolution, and ink in the colour of its series.
func TestPNG(t *testing.T) {
	f := sampled(t)["bid-curve"]
	raw, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Size()
	if size.X != 8*pngDPI || size.Y != 4*pngDPI {
		t.Errorf("%v", size)
	}
	inks := map[color.NRGBA]int{}
	for x := range size.X {
		for y := range size.Y {
			inks[color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)]++
		}
	}
	for i := range f.Series {
		if inks[colours[i]] == 0 {
			t.Errorf("%s is not drawn", f.Series[i].Name)
		}
	}
	f.Missing = "no bids"
	if raw, err := f.PNG(); err != nil || raw != nil {
		t.Errorf("a figure without data is drawn: %d bytes, %v", len(raw), err)
	}
}

// Names of archives are text in pictures, too: each is well-formed, and has no element that is
// not of a drawing.
func TestHostileNames(t *testing.T) {
	for _, f := range hostileFigures() {
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for elements := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := elements.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", f.ID, err)
			}
			drawn := []string{"svg", "g", "path", "text"}
			if start, is := token.(xml.StartElement); is && !slices.Contains(drawn, start.Name.Local) {
				t.Errorf("%s has the element %s", f.ID, start.Name.Local)
			}
		}
	}
}
