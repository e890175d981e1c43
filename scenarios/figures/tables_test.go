package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

func known(us int64) dataset.Time { return dataset.Time{Micros: us, Known: true} }

func stage(request, name dataset.Text, us int64) *dataset.Stage {
	return &dataset.Stage{Request: request, Stage: name, TookUs: dataset.Int{V: us, Known: true}}
}

// worthy is a bid of a builder for a block of the same name, with its worth, in milliseconds and
// milliether.
func worthy(name byte, block byte, ms, value, worth int64) *dataset.Bid {
	return &dataset.Bid{
		Kind: dataset.Submission, SlotStart: known(startUs), ReceivedAt: known(startUs + ms*1000),
		Builder: dataset.Key{V: key(name), Known: true}, BlockHash: dataset.Hash{V: hash(block), Known: true},
		ValueWei: milliCell(value), WorthWei: milliCell(worth),
	}
}

// asking is a request for a header in milliseconds of the slot, by the proposer's clock or the
// relay's.
func asking(sentMs, receivedMs int64) *dataset.Request {
	r := &dataset.Request{Kind: dataset.HeaderRequest}
	if sentMs != 0 {
		r.SentAt = known(startUs + sentMs*1000)
	}
	if receivedMs != 0 {
		r.ReceivedAt = known(startUs + receivedMs*1000)
	}
	return r
}

// addTables adds to a part what a person can count.
func addTables(p *Part, hostile dataset.Text) {
	for us := range int64(100) { // 1 to 100 µs: the middle one is the 50th
		p.AddStage(stage("submission", "check", us+1))
	}
	p.AddStage(stage("submission", "receive", 5))
	p.AddStage(stage("payload", "guard", 1_000_001)) // which becomes 976 times 1,024
	p.AddStage(stage("submission", hostile, 7))

	// A bids 8 of 10, 9 of 10, and 12 of 10 in another step; B bids all. A's first block came to a
	// second relay later, was listed by a stream, and once more with another value.
	again, listed, unsaid := worthy('A', 1, 90, 8, 10), worthy('A', 1, 10, 8, 10), worthy('B', 5, 10, 8, 10)
	listed.Kind, unsaid.WorthWei = dataset.TopStream, dataset.Wei{}
	p.AddBids([]*dataset.Bid{
		again, worthy('A', 1, 20, 8, 10), listed, unsaid, worthy('A', 2, 30, 9, 10), worthy('A', 3, 130, 12, 10),
		worthy('B', 4, 199, 10, 10), worthy('B', 6, 99, 3, 0),
	})

	for i, kind := range []dataset.Text{"bundle", "share", "share", hostile} {
		o := &dataset.Order{Kind: kind, State: dataset.OrderAlive, SimulatedAt: known(1)}
		if i == 1 {
			o.SharedAt, o.MatchedAt, o.SentAt = known(2), known(3), known(4)
			o.State, o.RefundWei = dataset.OrderLanded, milliCell(1)
		}
		if i == 2 {
			o.SimulatedAt, o.RefundWei = dataset.Time{}, dataset.Wei{Known: true}
		}
		p.AddOrder(o)
	}

	slot := func(outcome dataset.Text, requests ...*dataset.Request) {
		var asked Asked
		for _, r := range requests {
			asked.Add(r)
		}
		p.AddSlot(&dataset.Slot{Outcome: outcome, SlotStart: known(startUs)}, asked)
	}
	payload := asking(0, 3000)
	payload.Kind = dataset.PayloadRequest
	for range 8 {
		slot(dataset.Landed, asking(150, 0), asking(0, 900), payload) // the proposer's clock counts
	}
	slot(dataset.Local, asking(199, 0))
	slot(dataset.Missed, asking(120, 0), asking(20, 0)) // the last one counts
	slot(dataset.Orphaned, asking(0, 1250), asking(0, 1190))
	slot(dataset.Empty, asking(0, 1201))
	slot(dataset.Landed, asking(-5000, 0))
	slot(dataset.Missed, asking(60_000, 0))
	slot(dataset.Missed, payload)
}

// Each number of the tables' figures is one that a person finds in the rows above.
func TestNumbersOfTables(t *testing.T) {
	p := NewPart(0)
	p.Add(nil, nil)
	addTables(p, "zzz")
	figures := byID(p.Figures(nil))
	a, b := keyText(key('A')), keyText(key('B'))
	for _, c := range []struct{ id, begins, want string }{
		{"stages", "submission receive", "submission receive 1 5 5 5 5"},
		{"stages", "submission check", "submission check 100 50 90 99 100"},
		{"stages", "payload guard", "payload guard 1 999424 999424 999424 1000001"},
		{"shading", "all  0", "all  0 2 0.150000  0.150000000 0.150000000"},
		{"shading", "all  100", "all  100 2 -0.100000  -0.100000000 -0.100000000"},
		// 0.2, 0.1 and -0.2: the middle one is 0.1, the mean 0.1 of 3.
		{"shading", "builder " + a, "builder " + a + "  3 0.033333 0.100  "},
		{"shading", "builder " + b, "builder " + b + "  1 0.000000 0.000  "},
		{"orders", "all accepted", "all accepted 4 1.000000"},
		{"orders", "all simulated", "all simulated 3 0.750000"},
		{"orders", "all refunded", "all refunded 1 0.250000"},
		{"orders", "share simulated", "share simulated 1 0.500000"},
		{"orders", "share matched", "share matched 1 0.500000"},
		{"orders", "share landed", "share landed 1 0.500000"},
		{"orders", "bundle sent", "bundle sent 0 0.000000"},
		{"orders", "others accepted", "others accepted 1 1.000000"},
		{"orders", "private-transaction", "no row private-transaction"},
		// Wilson's interval for 1 of 10 is 1.8 % to 40.4 %, for 2 of 2 34.2 % to 100 %.
		{"missed", "100", "100 10 1 0 0 0.100000 0.017876 0.404150"},
		{"missed", "1200", "1200 2 0 1 1 1.000000 0.342380 1.000000"},
		{"missed", "-4000", "-4000 1 0 0 0 0.000000 0.000000 0.793451"},
		{"missed", "11900", "11900 1 1 0 0 1.000000 0.206549 1.000000"},
		{"missed", " 1", " 1 1 0 0 1.000000 0.206549 1.000000"},
	} {
		f := figures[c.id]
		got := "no row " + c.begins
		for _, r := range f.Rows {
			if text := strings.Join(r, " "); strings.HasPrefix(text+" ", c.begins+" ") {
				got = text
			}
		}
		if got != c.want || f.Missing != "" {
			t.Errorf("%s: %q, want %q (%s)", c.id, got, c.want, f.Missing)
		}
	}
	var order []string
	for _, r := range figures["stages"].Rows {
		order = append(order, r[1])
	}
	if got := strings.Join(order, " "); got != "receive check zzz guard" {
		t.Errorf("stages are in the order %s", got)
	}
}

// A builder's shading is in the table of builders, too.
func TestShadingOfBuilders(t *testing.T) {
	p := NewPart(0)
	p.Add(nil, nil)
	p.builders.of(key('A'))
	p.builders.of(key('C'))
	addTables(p, "zzz")
	f := byID(p.Figures(nil))["builders"]
	for name, want := range map[byte]string{'A': "0.033333 0.100", 'C': " "} {
		if got := row(t, f, keyText(key(name))); !strings.HasSuffix(got, " "+want) {
			t.Errorf("%c: %q, want %q at the end", name, got, want)
		}
	}
}

// However rows are divided into parts, the figures are the same, to the last digit that is drawn.
func TestMergeTables(t *testing.T) {
	whole, first, second := NewPart(0), NewPart(0), NewPart(0)
	addTables(whole, "a")
	addTables(whole, "b")
	addTables(first, "a")
	addTables(second, "b")
	merged := NewPart(0)
	merged.Merge(first)
	merged.Merge(second)
	if got, want := fmt.Sprint(merged.Figures(nil)), fmt.Sprint(whole.Figures(nil)); got != want {
		t.Errorf("merged\n%s\nwhole\n%s", got, want)
	}
}

// Rounded durations differ by less than 0.2 %, and small ones not at all. Their number is bounded,
// and so is that of stages.
func TestStagesAreBounded(t *testing.T) {
	all := map[int64]bool{}
	for us := int64(1); us > 0 && us < math.MaxInt64/3; us = us + us/700 + 1 {
		r := rounded(us)
		if all[r] = true; r > us || us < 1024 && r != us || float64(us-r) >= float64(us)*0.002 {
			t.Fatalf("%d becomes %d", us, r)
		}
	}
	if len(all) > 512*64 {
		t.Errorf("%d durations are told apart", len(all))
	}
	p := NewPart(0)
	for i := range 1000 {
		p.AddStage(stage("payload", dataset.Text(fmt.Sprint(i)), 1))
	}
	if n := len(p.stages.by); n > mostStages+2 {
		t.Errorf("%d stages", n)
	}
	p.AddStage(stage("payload", "others", math.MaxInt64))
	if got := row(t, byID(p.Figures(nil))["stages"], "payload", "others"); got !=
		fmt.Sprintf("payload others %d 1 1 1 %d", 1000-mostStages+1, int64(math.MaxInt64)) {
		t.Error(got)
	}
}

// A bid of all ether for a block of no worth does not overflow, and medians stop at -100 %.
func TestShadingIsBounded(t *testing.T) {
	p := NewPart(0)
	b := worthy('A', 1, 0, 0, 0)
	b.WorthWei, b.ValueWei = dataset.Wei{Lo: 1, Known: true}, dataset.Wei{Hi: 1 << 60, Known: true}
	p.AddBids([]*dataset.Bid{b})
	f := byID(p.Figures(nil))["shading"]
	if got := row(t, f, "builder"); f.Missing != "" || !strings.HasSuffix(got, " -1.000  ") {
		t.Errorf("%q %s", got, f.Missing)
	}
	if svg, err := f.SVG(); err != nil || len(svg) == 0 {
		t.Error(err)
	}
}

// What a relay refused, or found invalid, is no bid that anybody shades.
func TestShadingLeavesOutCheats(t *testing.T) {
	p := NewPart(0)
	refused, invalid := worthy('A', 1, 0, 800, 10), worthy('A', 2, 0, 900, 10)
	refused.Refusal, invalid.Verified = "value-mismatch", dataset.Bool{Known: true}
	valid := worthy('A', 3, 0, 8, 10)
	valid.Verified = dataset.Bool{V: true, Known: true}
	p.AddBids([]*dataset.Bid{refused, invalid, valid})
	f := byID(p.Figures(nil))["shading"]
	if got := row(t, f, "builder"); !strings.Contains(got, " 1 0.200000 ") {
		t.Errorf("%q", got)
	}
}

// What of the tables is missing is said.
func TestMissingTables(t *testing.T) {
	p := NewPart(0)
	p.AddSlot(&dataset.Slot{Outcome: dataset.Missed, SlotStart: known(startUs)}, Asked{})
	far := worthy('A', 1, 9000, 8, 10)
	p.AddBids([]*dataset.Bid{far, worthy('B', 1, -12_001, 8, 10), worthy('C', 1, 4000, 8, 10)})
	for id, want := range map[string]string{
		"missed":  "No request for a header is known of any of the 1 slots.",
		"shading": "No bid of which the worth is known came from 12 s before its slot until 4 s into it.",
		"stages":  "The data set has no stages of relays: archives do not have them, runs of gavel's own do.",
		"orders":  "The data set has no orders: archives do not have them, runs of gavel's own do.",
	} {
		if f := byID(p.Figures(nil))[id]; f.Missing != want || len(f.Rows) > 0 || len(f.Series) > 0 {
			t.Errorf("%s: %q, %d rows", id, f.Missing, len(f.Rows))
		}
	}
	if !slices.ContainsFunc(NewPart(0).Figures(nil), func(f Figure) bool {
		return f.ID == "missed" && strings.HasPrefix(f.Missing, "The data set does not say what the chain has")
	}) {
		t.Error("without slots there is a figure of missed ones")
	}
}
