package timeline_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/golden"
)

// hostile would take over a page if it were not text.
const hostile = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script></style></title>`

// story is a run of two slots: in the second one the relay is killed after it has served a header.
func story() *timeline.Chart {
	c := &timeline.Chart{About: timeline.About{
		Title: "relay-killed", Why: "The only relay dies.", SlotMs: 12000,
		Fields: []timeline.Field{{Name: "Seed", Text: "1"},
			{Name: "relay", Text: "its pages", Link: "http://127.0.0.1:9062"}},
		Verdicts: []timeline.Verdict{{Text: "missed slot in slot 2", Reason: "once", Met: true},
			{Text: "landed in slot 2", Reason: "never"}},
	}}
	bid := func(slot int, ms int64, builder, wei, refusal string) {
		c.Add(timeline.Fact{Slot: slot, SlotMs: ms, Actor: "relay-1", Subject: "submission_judged", About: builder,
			ValueWei: wei, ID: refusal, Counts: refusal == "", Fork: "fulu", Text: `{"slot":"1"}`})
		if refusal == "" {
			c.Add(timeline.Fact{Slot: slot, SlotMs: ms + 10, Actor: "relay-1", Subject: "top_changed", About: builder,
				ValueWei: wei})
		}
	}
	for slot := 1; slot <= 2; slot++ {
		c.Add(timeline.Fact{Slot: slot, SlotMs: -9000, Actor: "rpc", Subject: "order_accepted", About: "user-1"})
		c.Add(timeline.Fact{Slot: slot, SlotMs: -8900, Actor: "rpc", Subject: "hint_seen", About: "user-1"})
		bid(slot, -6000, "builder-1", "500000000000000", "")
		bid(slot, -4000, "builder-2", "1000000000000000", "")
		bid(slot, -2000, "builder-1", "900000000000000", "submission-invalid")
		c.Add(timeline.Fact{Slot: slot, SlotMs: 130, Actor: "relay-1", Subject: "header_served", About: "builder-2",
			ValueWei: "1000000000000000"})
	}
	c.Add(timeline.Fact{Slot: 1, SlotMs: 400, Actor: "relay-1", Subject: "payload_delivered", About: "builder-2",
		ValueWei: "1000000000000000"})
	c.Add(timeline.Fact{Slot: 1, SlotMs: 18000, Actor: "chain", Subject: "slot_finished", About: "builder-2",
		ID: "landed", ValueWei: "1000000000000000"})
	c.Add(timeline.Fact{Slot: 2, SlotMs: 1000, Actor: "lab", Subject: "fault_began", About: "relay-1", ID: "kill"})
	c.Add(timeline.Fact{Slot: 2, SlotMs: 8000, Actor: "lab", Subject: "fault_ended", About: "relay-1", ID: "kill"})
	c.Add(timeline.Fact{Slot: 2, SlotMs: 18000, Actor: "chain", Subject: "slot_finished", ID: "missed"})
	return c
}

// adversary is a run in which every text is hostile.
func adversary() *timeline.Chart {
	c := &timeline.Chart{About: timeline.About{Title: hostile, Why: hostile, SlotMs: 12000,
		Fields:   []timeline.Field{{Name: hostile, Text: hostile, Link: "javascript:document.title='taken'"}},
		Notes:    []string{hostile},
		Verdicts: []timeline.Verdict{{Text: hostile, Reason: hostile}}}}
	for _, subject := range []string{"submission_judged", "top_changed", "fault_began", "slot_finished", hostile} {
		c.Add(timeline.Fact{Slot: 1, SlotMs: -1000, Actor: hostile, Subject: subject, About: hostile, At: hostile,
			ID: hostile, ValueWei: "5", Fork: hostile, Note: hostile, Text: hostile})
	}
	return c
}

func page(t testing.TB, c *timeline.Chart) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.WritePage(&out, 0); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The page of a small run, as it is written.
func TestPage(t *testing.T) {
	got := page(t, story())
	// style and script have files of their own
	got = strings.Replace(strings.Replace(got, timeline.Style, "…", 1), timeline.Script, "…", 1)
	golden.File(t, "testdata/run.html", got)
}

// Of names and texts that are markup, the page has no markup. It asks nobody for anything.
func TestHostileTexts(t *testing.T) {
	got := page(t, adversary())
	for _, word := range []string{"<img", "<script>document", "javascript:document.title", "src=\"", "@import", "url("} {
		if strings.Contains(got, word) {
			t.Errorf("the page has %q", word)
		}
	}
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
}

// However much comes, the page is bounded: the newest slots, a number of facts in each lane, and so
// much text of each. What is left out is counted, and no lane crowds out another one.
func TestBounds(t *testing.T) {
	c := &timeline.Chart{MostSlots: 3, About: timeline.About{SlotMs: 12000}}
	for slot := range 10 {
		for range 1000 {
			c.Add(timeline.Fact{Slot: slot, Subject: "order_accepted", About: strings.Repeat("é", 1000),
				Text: strings.Repeat("é", 100_000)})
		}
		c.Add(timeline.Fact{Slot: slot, Subject: "slot_finished", ID: "landed", About: "builder-1",
			Note: timeline.Votes(true, 511, 512)})
	}
	c.Add(timeline.Fact{Slot: 2, Subject: "slot_finished", ID: "missed"}) // too late
	if got := fmt.Sprint(c.Slots()); got != "[7 8 9]" {
		t.Errorf("kept %s", got)
	}
	got := page(t, c)
	for _, want := range []string{"7 older slots are not shown", "800 more are only counted", "… (200000 bytes)",
		"Slot 9: landed, builder-1, FULL 511/512"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if len(got) > 2<<20 || strings.Contains(got, "�") {
		t.Errorf("%d bytes", len(got))
	}
}

// A bid's height is its value relative to the highest, and what comes after the picture's end is at
// its edge.
func TestPlaces(t *testing.T) {
	got := page(t, story())
	for _, want := range []string{
		`<line class="begin" x1="505.0" x2="505.0"`, `<line class="attest" x1="650.0" x2="650.0"`,
		`<title>-4000 ms: submission judged builder-2 0.001000 ETH (relay-1)</title><use href="#dot" x="360.0" y="52.0"/>`,
		`<title>18000 ms: slot finished builder-2 landed 0.001000 ETH (chain)</title><use href="#diamond" x="940.0"`,
		`<rect x="541.2" y="2" width="253.8" height="14"/>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
}

// Whatever facts come, in whatever order, there is a page and each of its parts.
func TestAnyFacts(t *testing.T) {
	subjects := rapid.SampledFrom([]string{"submission_judged", "top_changed", "fault_began", "fault_ended",
		"slot_finished", "order_accepted", "", "x"})
	rapid.Check(t, func(t *rapid.T) {
		c := &timeline.Chart{MostSlots: rapid.IntRange(0, 5).Draw(t, "most"),
			About: timeline.About{SlotMs: rapid.Int64Range(0, 1e13).Draw(t, "slot")}}
		for range rapid.IntRange(0, 20).Draw(t, "facts") {
			c.Add(timeline.Fact{Slot: rapid.Int().Draw(t, "number"), SlotMs: rapid.Int64().Draw(t, "ms"),
				Subject: subjects.Draw(t, "subject"), About: rapid.String().Draw(t, "about"),
				ValueWei: rapid.SampledFrom([]string{"", "-1", "1e9", "0", "7", strings.Repeat("9", 78)}).Draw(t, "wei"),
				Counts:   rapid.Bool().Draw(t, "counts"), Text: string(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "text"))})
		}
		var out bytes.Buffer
		if err := c.WritePage(&out, 0); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
			t.Fatal("a place is no number")
		}
		for _, number := range c.Slots() {
			if err := c.WriteSlot(&out, number); err != nil {
				t.Fatal(err)
			}
		}
	})
}
