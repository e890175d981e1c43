package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
)

// sample is a report whose numbers are made up.
func sample(target string, headerMs int) *Report {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	samples := []Sample{
		{Submissions, ms(0), ms(30), 200, true, 1000}, {Submissions, ms(100), ms(50), 200, true, 1000},
		{Submissions, ms(200), ms(5), 400, false, 1000}, {Headers, ms(10), ms(headerMs), 200, true, 0},
		{Headers, ms(20), ms(headerMs), 204, true, 0}, {Headers, ms(900), ms(9000), 0, false, 0},
	}
	part := Part{Phase: Phase{"steady", 2 * time.Second, 100, 16}, Loaded: 2 * time.Second, PerSecond: 2,
		Measures: Account([]Kind{Submissions, Headers}, samples, 0, 2*time.Second, 2*time.Second)}
	return &Report{
		Schema: Schema, Target: target, Started: time.Unix(1_700_000_000, 0).UTC(), Machine: Machine{2, "amd64", 0.5},
		Setting: Setting{
			Mix: "submissions:1,headers:1", Fork: "fulu", SlotSeconds: 4, Builders: 10, Cancelling: 1, SameBlock: 2,
			BlockKB: []int{1, 100}, Blobs: 1, Formats: []string{"ssz", "json+gzip"}, Validators: 64, Batch: 50,
		},
		Phases: []Part{part},
		Faults: []Found{{WrongBest, 2, 1, "slot 9: no bid"}, {StaleHeader, 2, 0, ""}, {LostPayload, 1, 0, ""}},
		Notes:  []string{"one slot was missed"},
	}
}

func TestTable(t *testing.T) {
	r := sample("http://127.0.0.1:1", 3)
	r.Phases[0].Phase.PerSecond = 0
	r.Null = sample("null", 1)
	r.Null.Phases[0].PerSecond = 9
	var out bytes.Buffer
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/table.txt", out.String())
}

// A report that was read is written as it was.
func TestJSON(t *testing.T) {
	var first, second bytes.Buffer
	if err := sample("x", 3).WriteJSON(&first); err != nil {
		t.Fatal(err)
	}
	text := first.String()
	r, err := Read(&first)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&second); err != nil || second.String() != text {
		t.Errorf("%v:\n%s\nwant\n%s", err, second.String(), text)
	}
	for _, wrong := range []string{"", "[]", `{"schema": 2}`} {
		if _, err := Read(strings.NewReader(wrong)); err == nil {
			t.Errorf("%q is no report", wrong)
		}
	}
}

func TestCompare(t *testing.T) {
	other := sample("http://127.0.0.1:2", 4)
	other.Setting.Blobs = 3
	other.Faults = nil
	other.Phases = append(other.Phases, Part{Phase: Phase{Name: "flat-out"}, PerSecond: 50})
	var out bytes.Buffer
	if err := Compare([]*Report{sample("http://127.0.0.1:1", 3), other}).Table(&out); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/compare.txt", out.String())
	if c := Compare([]*Report{sample("a", 1), sample("b", 2)}); len(c.Unlike) > 0 {
		t.Errorf("%v, though the settings are the same", c.Unlike)
	}
}

func TestUnanswered(t *testing.T) {
	r := sample("x", 3)
	if got := r.Unanswered(); len(got) != 0 {
		t.Errorf("%v, want none", got)
	}
	r.Phases[0].Measures[1].Good = 0
	if got := r.Unanswered(); len(got) != 1 || got[0] != Headers {
		t.Errorf("%v, want headers", got)
	}
	r.Phases = append(r.Phases, sample("x", 3).Phases...)
	if got := r.Unanswered(); len(got) != 0 {
		t.Errorf("%v, though the second phase has right answers", got)
	}
}

func TestRatio(t *testing.T) {
	r := sample("x", 3)
	if r.Ratio("steady") != 0 {
		t.Error("a ratio to a null target that there is not")
	}
	r.Null = sample("null", 3)
	if r.Null.Phases[0].PerSecond = 9; r.Ratio("steady") != 0 {
		t.Error("a ratio of a phase whose rate is given")
	}
	r.Phases[0].Phase.PerSecond = 0
	if r.Ratio("steady") != 4.5 || r.Ratio("flat-out") != 0 {
		t.Errorf("%v, want 4.5; %v, want 0", r.Ratio("steady"), r.Ratio("flat-out"))
	}
	if r.Phases[0].PerSecond = 0; r.Ratio("steady") != 0 {
		t.Error("a ratio to nothing")
	}
}
