package display

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/golden"
)

// A run that has everything: a fork, a cancelled bid, a local block, a missed slot, a payload that
// was not delivered, one that did not land.
func story(out Output) {
	out.Start(Run{
		Slots: 6, SlotDuration: 12 * time.Second, Speed: 12, Validators: 64, Builders: 2,
		Endpoints: []Endpoint{
			{"relay", "http://127.0.0.1:18550"}, {"beacon node", "http://127.0.0.1:5052"},
			{"execution RPC", "http://127.0.0.1:8545"},
			{"bundle RPC", "http://127.0.0.1:9545"}, {"event stream", "http://127.0.0.1:9546"},
		},
	})
	out.Slot(Slot{Number: 1, Fork: eth.Electra, Proposer: 7, Open: true, Bids: 2, Values: gwei(100, 200),
		TopWei: gwei(200)[0], Winner: "builder-2"})
	out.Slot(Slot{
		Number: 1, Fork: eth.Electra, Proposer: 7, Bids: 6, Values: gwei(100, 200, 900, 400, 4_000_000, 12_345_678),
		TopWei: gwei(12_345_678)[0],
		Winner: "builder-2", Delivered: true, Landed: true, Txs: 50, Took: []Stage{{"header", 12 * time.Millisecond},
			{"deliver", 88 * time.Millisecond}},
	})
	out.Slot(Slot{
		Number: 2, Fork: eth.Electra, Proposer: 41, Bids: 3, Values: gwei(7, 7, 7), TopWei: gwei(7)[0],
		Winner: "builder-1", Delivered: true, Landed: true, Txs: 48, Blobs: 2,
		Took: []Stage{{"header", 800 * time.Microsecond}},
		Flow: Flow{Orders: 11, Cancelled: 1, Hints: 8, Backruns: 5, Landed: 3, Refunds: 2, RefundedWei: gwei(61_000_000)[0]},
	})
	out.Flow(Flow{Orders: 9, Hints: 7, Backruns: 4})
	out.Flow(Flow{Orders: 11, Cancelled: 1, Hints: 8, Backruns: 5, Landed: 3, Refunds: 2,
		RefundedWei: gwei(61_000_000)[0]})
	out.Slot(Slot{Number: 3, Fork: eth.Fulu, Proposer: 3, Winner: Local, Landed: true, Txs: 50,
		Note: "the relay had no bid in time"})
	out.Note("the relay's journal was\nslow: 1.2s")
	out.Slot(Slot{Number: 4, Fork: eth.Fulu, Proposer: 12, Bids: 1, Values: gwei(5), TopWei: gwei(5)[0],
		Note: "nobody proposed"})
	out.Slot(Slot{
		Number: 5, Fork: eth.Fulu, Proposer: 60, Bids: 2, Values: gwei(1, 2), TopWei: ether(31_415),
		Winner: "builder-1", Txs: 1,
		Note: "the relay refused the blinded block: invalid execution payload header",
	})
	out.Slot(Slot{Number: 6, Fork: eth.Fulu, Proposer: 60, Bids: 2, Values: gwei(1, 2), TopWei: ether(1),
		Winner: "builder-1", Delivered: true, Txs: 1})
}

func ending() Summary {
	return Summary{
		Slots: 6, Delivered: 3, Landed: 2, Local: 1, Missed: 1, PaidWei: gwei(12_345_685)[0],
		FirstDelivery:   2140 * time.Millisecond,
		RoundTripMedian: 88 * time.Millisecond, Wall: 7200 * time.Millisecond,
		Flow: Flow{Orders: 11, Cancelled: 1, Hints: 8, Backruns: 5, Landed: 3, Refunds: 2,
			RefundedWei: gwei(61_000_000)[0]},
		Problems: []string{"slot 6: the delivered block is not on the chain", "slot 5: refused"},
	}
}

var widths = []int{60, 80, 120}

// What a pipe gets has no width; the other widths are a terminal's with --plain.
func TestPlain(t *testing.T) {
	for _, width := range append([]int{0}, widths...) {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var out bytes.Buffer
			view := New(&out, Options{Size: func() (int, int) { return width, 24 }})
			story(view)
			view.Done(ending())
			if strings.ContainsRune(out.String(), '\x1b') {
				t.Error("plain lines without color hold an escape sequence")
			}
			golden.File(t, fmt.Sprintf("testdata/plain-%d.txt", width), out.String())
		})
	}
}

// The golden is what a person sees in the end: a screen that has interpreted the repaints. Line by
// line it must fit, or the next repaint would begin in the wrong place.
func TestLive(t *testing.T) {
	for _, width := range widths {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			screen := &screen{width: width}
			out := New(screen, Options{Live: true, Size: func() (int, int) { return width, 40 }})
			_, _ = screen.Write([]byte("$ make devnet\n"))
			story(out)
			if len(screen.tooWide) > 0 {
				t.Errorf("lines wider than %d: %q", width, screen.tooWide)
			}
			out.Done(ending()) // nothing is repainted after this, so that its lines may wrap
			golden.File(t, fmt.Sprintf("testdata/live-%d.txt", width), screen.String())
		})
	}
}

// While a slot is open its row grows; there is one row for it, not one for each bid.
func TestLiveOpenSlot(t *testing.T) {
	screen := &screen{width: 80}
	out := New(screen, Options{Live: true, Size: func() (int, int) { return 80, 40 }})
	out.Start(Run{SlotDuration: 12 * time.Second, Speed: 12})
	for bids := 1; bids <= 5; bids++ {
		out.Slot(Slot{Number: 9, Fork: eth.Fulu, Open: true, Bids: bids, Values: gwei(1, 2, 3, 4, 5)[:bids],
			TopWei: gwei(uint64(bids))[0], Winner: "builder-1"})
	}
	golden.File(t, "testdata/live-open.txt", screen.String())
}

// On a low terminal, and in a long run, the old slots leave; the picture never grows beyond the
// screen.
func TestLiveLowTerminal(t *testing.T) {
	screen := &screen{width: 80}
	out := New(screen, Options{Live: true, Size: func() (int, int) { return 80, 12 }})
	out.Start(Run{SlotDuration: 12 * time.Second, Speed: 12, Endpoints: []Endpoint{{"relay", "http://127.0.0.1:18550"}}})
	for n := range uint64(40) {
		out.Slot(Slot{Number: n, Fork: eth.Fulu, Winner: Local})
	}
	golden.File(t, "testdata/live-low.txt", screen.String())
	if got := len(screen.lines); got > 12 {
		t.Errorf("%d lines on a terminal of 12", got)
	}
}

// What was counted between two moments.
func TestFlowLess(t *testing.T) {
	earlier := Flow{Orders: 1, Cancelled: 1, Hints: 1, Backruns: 1, Landed: 1, Refunds: 1, RefundedWei: gwei(5)[0]}
	later := Flow{Orders: 3, Cancelled: 2, Hints: 4, Backruns: 5, Landed: 6, Refunds: 7, RefundedWei: gwei(12)[0]}
	if got, want := strings.Join(later.Less(earlier).lines(0),
		"\n"), "2 orders ▸ 3 hints ▸ 4 backruns ▸ 5 landed ▸ 7.000 gwei back"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d := later.Less(later); !d.none() || d.lines(0)[0] != "0 orders ▸ 0 hints ▸ 0 backruns ▸ 0 landed ▸ 0 ETH back" {
		t.Errorf("nothing is %s", d.lines(0))
	}
	if got := later.Less(Flow{}); got != later {
		t.Errorf("from the start: %+v", got)
	}
}

// Color marks what is not as it should be, and is never needed to understand a row.
func TestColor(t *testing.T) {
	var with, without bytes.Buffer
	story(New(&with, Options{Color: true}))
	story(New(&without, Options{}))
	if !strings.Contains(with.String(), "\x1b[31m") {
		t.Error("nothing is red in a run with a missed slot")
	}
	if ansi.Strip(with.String()) != without.String() {
		t.Error("the words with and without color differ")
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		summary Summary
		want    string
		ok      bool
	}{
		{Summary{Slots: 16, Delivered: 16, Landed: 16}, "16 of 16 payloads delivered and landed", true},
		{Summary{Slots: 16, Delivered: 15, Landed: 15, Local: 1},
			"15 of 16 payloads delivered and landed: 1 block built locally", false},
		{Summary{Slots: 3, Delivered: 1, Missed: 2},
			"0 of 3 payloads delivered and landed: 2 slots missed, 1 delivered payload not on the chain", false},
		{Summary{Slots: 1, Delivered: 1, Landed: 1, Problems: []string{"x"}},
			"1 of 1 payloads delivered and landed: 1 problem", false},
		{Summary{}, "no slot was finished", true},
		{Summary{Problems: []string{"x"}}, "0 of 0 payloads delivered and landed: 1 problem", false},
	} {
		if got := c.summary.Verdict(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.summary, got, c.want)
		}
		if got := c.summary.OK(); got != c.ok {
			t.Errorf("%+v: OK is %v", c.summary, got)
		}
	}
}

func TestOptionsForAFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if o := OptionsFor(file, false, func(string) string { return "xterm" }); o.Live || o.Color || o.Size != nil {
		t.Errorf("a file that is no terminal gets %+v", o)
	}
}

func gwei(values ...uint64) []*uint256.Int {
	wei := make([]*uint256.Int, len(values))
	for i, v := range values {
		wei[i] = new(uint256.Int).Mul(uint256.NewInt(v), uint256.NewInt(1e9))
	}
	return wei
}

func ether(n uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(1e18))
}
