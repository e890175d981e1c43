package dataset

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var runFact = regexp.MustCompile(`"actor":"([^"]*)","subject":"([^"]*)".*?"fact":(\{.*\})\}`)

// journalOf writes the relay's facts of a run as its journal has them, two in a message.
func journalOf(t testing.TB, run string) string {
	t.Helper()
	var out strings.Builder
	waiting := map[string]string{}
	write := func(subject, fact string) {
		fmt.Fprintf(&out, `{"journal":"xyz","seq":7,"at":"2026-11-21T15:14:28Z","subject":"relay.%s","fact":%s}`+"\n", subject, fact)
	}
	for _, found := range runFact.FindAllStringSubmatch(run, -1) {
		subject, fact := found[2], found[3]
		if first := waiting[subject]; first != "" {
			write(subject, "["+first+","+fact+"]")
			fact = ""
		}
		waiting[subject] = fact
	}
	for subject, fact := range waiting {
		if fact != "" {
			write(subject, fact)
		}
	}
	return out.String()
}

// A relay's journal gives the rows that a run folder of the same facts gives, but for where they
// come from and who the relay is.
func TestJournalFacts(t *testing.T) {
	facts := runFacts(t) + servedFact + deliveredFact
	want := readRun(t, facts)
	network, err := RunNetwork(strings.NewReader(facts), 0)
	if err != nil {
		t.Fatal(err)
	}
	content := journalOf(t, facts)
	if f, err := Recognise([]byte(content)); err != nil || f.Name != "journal" {
		t.Fatal(f, err)
	}
	var got collected
	if err := journalFacts.Read(strings.NewReader(content), Origin{Network: network, Relay: "relay-1"}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.bad) > 0 || len(got.bids) != len(want.bids) || len(got.deliveries) != 1 {
		t.Fatalf("%d bids of %d, bad %q", len(got.bids), len(want.bids), got.bad)
	}
	lines := func(c collected) string {
		text := table(t, Bids, Bids.Sort(c.bids)) + table(t, Deliveries, c.deliveries)
		return regexp.MustCompile(`source=(run|journal) kind`).ReplaceAllString(strings.ReplaceAll(text,
			"source=journal relay", "source=run relay"), "kind")
	}
	if lines(got) != lines(want) {
		t.Errorf("%s\nwant %s", lines(got), lines(want))
	}
	if got.bids[0].Source != "journal" {
		t.Errorf("the source is %q", got.bids[0].Source)
	}
}

// What is no message, no fact, or of another service: bad rows by name, or nothing.
func TestJournalBadFacts(t *testing.T) {
	line := func(subject string, fact any) string {
		raw, err := json.Marshal(map[string]any{"subject": subject, "fact": fact})
		if err != nil {
			t.Fatal(err)
		}
		return `{"journal":"x",` + string(raw[1:]) + "\n"
	}
	for content, want := range map[string]string{
		`{"journal":"x",`:                                                      "1: not a message of a journal: ",
		line("relay.submission_judged", nil):                                   "1: no value",
		line("relay.submission_judged", 7):                                     "1: submission_judged: ",
		line("rpc.order_accepted", map[string]any{}):                           "1: no order",
		line("relay.submission_judged", []any{map[string]any{"slot": "1"}, 8}): "1: no value|1: submission_judged: ",
		line("stream.submission_judged", 7):                                    "",
		line("relay.unheard_of", 7):                                            "",
		line("rpc.order_accepted", map[string]any{"order": map[string]any{"id": 1}, "at": "1970-01-02T00:00:00Z"}): "1: ",
	} {
		var rows collected
		if err := journalFacts.Read(strings.NewReader(content), Origin{Network: mainnet}, &rows); err != nil {
			t.Errorf("%s: %v", content, err)
		}
		wants := strings.Split(want, "|")
		for i, bad := range rows.bad {
			if i >= len(wants) || wants[i] == "" || !strings.HasPrefix(bad, wants[i]) {
				t.Errorf("%s: bad %q, want %q", content, rows.bad, wants)
			}
		}
		if want != "" && len(rows.bad) != len(wants) {
			t.Errorf("%s: bad %q, want %q", content, rows.bad, wants)
		}
	}
}

// Whatever a journal has, reading it ends, and a bid has what each row needs.
func FuzzJournalFacts(f *testing.F) {
	for line := range strings.Lines(journalOf(f, runFacts(f))) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, content string) {
		var rows collected
		if err := journalFacts.Read(strings.NewReader(content), Origin{Network: mainnet}, &rows); err != nil {
			return
		}
		for _, b := range rows.bids {
			if !b.Slot.Known || !b.ValueWei.Known || !b.SlotStart.Known || b.GasUsed.V < 0 {
				t.Errorf("%+v", b)
			}
		}
	})
}
