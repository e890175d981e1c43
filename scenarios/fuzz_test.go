package scenarios

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzParse: no text breaks the parser, and what it takes survives being written out and read
// again.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("p.yaml", text)
		if err != nil {
			if !strings.Contains(err.Error(), "p.yaml") {
				t.Errorf("error names no file: %v", err)
			}
			return
		}
		wantStable(t, p)
	})
}

// wantStable checks that a plan's text is read as the same plan, which is explained in the same
// words.
func wantStable(t interface {
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, p *Plan,
) {
	again, err := Parse("p.yaml", []byte(p.Text()))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Text())
	}
	single := *p // one variant, as the text has it
	single.Vary, single.Chosen, single.source, single.without = nil, nil, source{}, nil
	single.Expect = nil
	for _, e := range p.Expect {
		if e.Comparison == nil || !e.Comparison.variants() {
			single.Expect = append(single.Expect, e)
		}
	}
	if again.Text() != single.Text() {
		t.Errorf("written again it is\n%s\nand was\n%s", again.Text(), single.Text())
	}
	if got, want := again.Explain(), single.Explain(); got != want {
		t.Errorf("explained again it is\n%s\nand was\n%s", got, want)
	}
	again.source = source{}
	for i := range again.Expect {
		again.Expect[i].Line, single.Expect[i].Line = 0, 0
	}
	if !reflect.DeepEqual(*again, single) {
		t.Errorf("read again it is\n%+v\nand was\n%+v", *again, single)
	}
}

// A plan put together from all that the catalogues have is stable.
func TestTextIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := aPlan(t)
		p, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		wantStable(t, p)
	})
}

// aPlan writes a plan with random moves, faults and expectations.
func aPlan(t *rapid.T) string {
	w := &writer{}
	w.line("slots: %d", rapid.IntRange(3, 9).Draw(t, "slots"))
	w.line("speed: %g", rapid.Float64Range(0.01, 1000).Draw(t, "speed"))
	w.line("relays: [{}, {journal-nodes: 3}]\nusers: 2\nsearchers: 1\nmonitor: %t", rapid.Bool().Draw(t, "monitor"))
	w.line("builders:\n  - naive")
	for _, form := range rapid.SliceOfNDistinct(rapid.SampledFrom(builderMoves.entries), 0, 5, func(e entry) string {
		return e.form
	}).Draw(t, "moves") {
		w.line("  - {strategy: %q, count: %d, key: %t}", aMove(t, form), rapid.IntRange(1, 3).Draw(t, "count"),
			rapid.Bool().Draw(t, "key"))
	}
	w.line("proposers:")
	for slot, form := range rapid.SliceOfNDistinct(rapid.SampledFrom(proposerMoves.entries), 0, 3, func(e entry) string {
		return e.form
	}).Draw(t, "proposers") {
		w.line("  - {slots: %d, strategy: %q}", slot+1, aMove(t, form))
	}
	w.line("faults:")
	for _, form := range rapid.SliceOfN(rapid.SampledFrom(faultMoves.entries), 0, 4).Draw(t, "faults") {
		from, on := rapid.IntRange(1, 3).Draw(t, "from"), "relay-2"
		switch form.form {
		case "database down": // not where a disk breaks
			on = "relay-1"
		case "known blocks refused", "committee absent", "envelopes refused":
			on = BeaconNode
		}
		w.line("  - {fault: %q, on: %s, from: slot %d %+dms, until: slot %d}", aMove(t, form), on, from,
			rapid.IntRange(-5000, 5000).Draw(t, "offset"), from+1)
	}
	w.line("expect:")
	for _, h := range rapid.SliceOfN(rapid.SampledFrom(happenings), 0, 4).Draw(t, "events") {
		if h.clauses[""] != "" && h.clauses[""] != "ACTOR" {
			continue // its object is drawn from the plan's actors, which the transcripts have
		}
		w.line("  - %q", rapid.SampledFrom([]string{"", "no "}).Draw(t, "no")+h.phrase+rapid.SampledFrom([]string{
			"", " in slot 2", " in slots 1..3", " in every slot", " 3 times", " at least 2 times", " at most 1 time in slot 3",
		}).Draw(t, "clause"))
	}
	for _, m := range rapid.SliceOfN(rapid.SampledFrom(measures), 0, 3).Draw(t, "measures") {
		w.line("  - \"%s(builder-1, slots=1..2) %s %g\"", m.name, rapid.SampledFrom(operators).Draw(t, "op"),
			rapid.Float64Range(-1e6, 1e6).Draw(t, "number"))
	}
	return w.String()
}

// aMove fills in the operands of a form.
func aMove(t *rapid.T, e entry) string {
	words := strings.Fields(e.form)
	for i, word := range words {
		if !isOperand(word) {
			continue
		}
		switch word {
		case "VALUE":
			words[i] = rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{1,9})?(eth|gwei)|[0-9]{1,12}wei`).Draw(t, "value")
		case "+VALUE":
			words[i] = "+" + rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{1,9})?gwei`).Draw(t, "value")
		case "PERCENT":
			words[i] = rapid.StringMatching(`[0-9]{1,2}(\.[0-9]{1,3})?%`).Draw(t, "percent")
		case "TIME":
			words[i] = rapid.StringMatching(`[-+]?[0-9]{1,4}(ms|s|us)`).Draw(t, "time")
		case "DURATION":
			words[i] = rapid.StringMatching(`[0-9]{1,4}(ms|s|us)`).Draw(t, "duration")
		case "COUNT":
			words[i] = rapid.StringMatching(`[1-9][0-9]{0,4}`).Draw(t, "count")
		case "NODE":
			words[i] = rapid.StringMatching(`[1-3]`).Draw(t, "node")
		case "STATUS":
			words[i] = rapid.StringMatching(`5[0-9]{2}`).Draw(t, "status")
		case "RELAY":
			words[i] = "relay-2"
		case "BUILDER":
			words[i] = "builder-1"
		default:
			words[i] = rapid.SampledFrom(e.names).Draw(t, "name")
		}
	}
	return strings.Join(words, " ")
}
