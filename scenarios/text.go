package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/devnet"
)

// Text writes one variant of the plan with every default. It parses to the same plan: parameters
// have their chosen values, and expectations that compare variants become comments, because this
// plan has only one variant. A run folder keeps the text, so that the run can be repeated.
func (p *Plan) Text() string {
	w := &writer{}
	if p.Why != "" {
		w.block("why", p.Why)
	}
	if len(p.Chosen) > 0 {
		w.line("# variant %s", p.Chosen)
	}
	w.line("slots: %d", p.Slots)
	w.line("slot: %s", formatDuration(p.Slot))
	w.line("speed: %s", strconv.FormatFloat(p.Speed, 'g', -1, 64))
	w.line("seed: %d", p.Seed)
	w.line("slots-per-epoch: %d", p.SlotsPerEpoch)
	w.line("forks:")
	for _, point := range p.Forks {
		w.line("  - %s@%d", point.Fork, point.Epoch)
	}
	w.line("validators: %d", p.Validators)
	w.line("txs: %d", p.TxsPerSlot)
	w.line("blob-every: %d", p.BlobEvery)
	w.relays(p.Relays)
	w.crowd("builders", len(p.Builders), func(i int) member { return member(p.Builders[i]) })
	w.proposers(p.Proposers)
	w.crowd("users", len(p.Users), func(i int) member { return member(p.Users[i]) })
	w.crowd("searchers", len(p.Searchers), func(i int) member { return member(p.Searchers[i]) })
	w.breaker(p.Breaker)
	w.latencies(p.Latencies)
	w.faults(p.Faults)
	w.line("monitor: %t", p.Monitor)
	if p.Payer {
		w.line("payer: true")
	}
	w.expectations(p.Expect)
	return w.String()
}

type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// block writes a paragraph as a literal block if that keeps it as it is, or else in quotes.
func (w *writer) block(key, text string) {
	if !plain(text) {
		w.line("%s: %s", key, quote(text))
		return
	}
	w.line("%s: |", key)
	for line := range strings.SplitSeq(text, "\n") {
		w.line("%s", strings.TrimRight("  "+line, " "))
	}
}

// plain says whether a text stays the same as a literal block: all of it is printable, and no line
// begins or ends with spaces.
func plain(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if line != strings.TrimSpace(line) {
			return false
		}
	}
	for _, c := range text {
		if c != '\n' && (c < ' ' || c > '~') && !strings.ContainsRune("–—“”’…äöüé", c) {
			return false
		}
	}
	return true
}

// quote puts a text into double quotes; the escapes of Go are also YAML's.
func quote(text string) string { return strconv.Quote(text) }

func (w *writer) relays(all []RelayPlan) {
	w.line("relays:")
	for _, one := range all {
		w.line("  - behaviour: %s # %s", one.Behaviour, one.Name)
		if one.InstanceOf != "" {
			w.line("    instance-of: %s", one.InstanceOf)
		}
		if one.JournalNodes > 0 {
			w.line("    journal-nodes: %d", one.JournalNodes)
		}
		if one.HeaderCutOff > 0 {
			w.line("    header-cut-off: %s", formatDuration(one.HeaderCutOff))
		}
		if one.PayloadCutOff > 0 {
			w.line("    payload-cut-off: %s", formatDuration(one.PayloadCutOff))
		}
		if len(one.Optimistic) > 0 {
			w.line("    optimistic: [%s]", strings.Join(one.Optimistic, ", "))
		}
		w.key(one.Key)
	}
}

func (w *writer) key(key bool) {
	if key {
		w.line("    key: true")
	}
}

func (w *writer) crowd(key string, n int, of func(int) member) {
	if n == 0 {
		w.line("%s: 0", key)
		return
	}
	w.line("%s:", key)
	for i := range n {
		one := of(i)
		w.line("  - strategy: [%s] # %s", moveWords(one.Strategy), one.Name)
		w.key(one.Key)
	}
}

func moveWords(moves []Move) string {
	words := make([]string, len(moves))
	for i, m := range moves {
		words[i] = m.String()
	}
	return strings.Join(words, ", ")
}

func (w *writer) proposers(all []ProposerPlan) {
	if len(all) == 0 {
		return
	}
	w.line("proposers:")
	for _, one := range all {
		w.line("  - strategy: [%s]", moveWords(one.Strategy))
		if one.Slots != (Range{}) {
			w.line("    slots: %s", one.Slots)
		}
		w.key(one.Key)
	}
}

func (w *writer) breaker(b devnet.BreakerLimits) {
	if b.Off() {
		w.line("circuit-breaker: off")
		return
	}
	w.line("circuit-breaker:")
	for _, one := range []struct {
		key   string
		count int
	}{{"missed-in-row", b.MissedInRow}, {"missed", b.MissedOf}, {"window", b.Window}} {
		if one.count > 0 {
			w.line("  %s: %d", one.key, one.count)
		}
	}
}

func (w *writer) latencies(all []Latency) {
	if len(all) > 0 {
		w.line("latency:")
	}
	for _, one := range all {
		w.line("  - on: %s", one.On)
		w.line("    time: %s", formatDuration(one.Time))
	}
}

func (w *writer) faults(all []Fault) {
	if len(all) > 0 {
		w.line("faults:")
	}
	for _, f := range all {
		w.line("  - fault: %s", f.What)
		w.line("    on: %s", f.On)
		if f.From != (Moment{}) {
			w.line("    from: %s", f.From)
		}
		if f.Until != (Moment{}) {
			w.line("    until: %s", f.Until)
		}
		w.key(f.Key)
	}
}

func (w *writer) expectations(all []Expectation) {
	if len(all) > 0 {
		w.line("expect:")
	}
	for _, e := range all {
		if c := e.Comparison; c != nil && c.variants() {
			w.line("  # compares variants: %s", e.Text)
			continue
		}
		w.line("  - %s", quote(e.Text))
	}
}

// variants says whether a comparison refers to a certain variant.
func (c *Comparison) variants() bool {
	for _, t := range []*Term{c.Left.Term, c.Left.Below, c.Right.Term, c.Right.Below} {
		if t != nil && len(t.Variant) > 0 {
			return true
		}
	}
	return false
}
