package scenarios

import (
	"strings"
	"testing"
)

// aRun is a run of four slots: builder-1 wins slot 1 at 0.02 ether, builder-2 slot 2 at 0.03; slot
// 3 is the proposer's own block after a payload that was refused, slot 4 is missed.
var aRun = []Record{
	{Slot: 1, SlotMs: -4000, Actor: "relay-1", Subject: SubmissionJudged, Counts: true, About: "builder-1",
		ValueWei: "20000000000000000"},
	{Slot: 1, SlotMs: -900, Actor: "relay-1", Subject: SubmissionJudged, About: "builder-2", ID: "submission-signature"},
	{Slot: 1, SlotMs: 10, Actor: "relay-1", Subject: HeaderServed, About: "builder-1", ValueWei: "20000000000000000"},
	{Slot: 1, SlotMs: 60, Actor: "relay-1", Subject: PayloadDelivered, About: "builder-1", ValueWei: "20000000000000000"},
	{Slot: 1, Actor: "chain", Subject: SlotFinished, ID: Landed, About: "builder-1", ValueWei: "20000000000000000",
		Fork: "electra"},
	{Slot: 2, SlotMs: -100, Actor: "relay-1", Subject: SubmissionJudged, Counts: true, About: "builder-2",
		ValueWei: "30000000000000000"},
	{Slot: 2, SlotMs: 30, Actor: "relay-1", Subject: HeaderServed, About: "builder-2", ValueWei: "30000000000000000"},
	{Slot: 2, SlotMs: 90, Actor: "relay-2", Subject: PayloadDelivered, About: "builder-2", ValueWei: "30000000000000000"},
	{Slot: 2, SlotMs: 90, Actor: "relay-2", Subject: BuilderDemoted, About: "builder-2"},
	{Slot: 2, Actor: "chain", Subject: SlotFinished, ID: Landed, About: "builder-2", ValueWei: "30000000000000000",
		Fork: "fulu"},
	{Slot: 3, SlotMs: 50, Actor: "relay-1", Subject: PayloadRefused, ID: "payload-unknown"},
	{Slot: 3, SlotMs: 55, Actor: "proposers", Subject: RequestRefused, At: "relay-1", ID: "payload-unknown"},
	{Slot: 3, Actor: "chain", Subject: SlotFinished, ID: Local, Fork: "fulu"},
	{Slot: 3, SlotMs: 7000, Actor: "monitor", Subject: MonitorFinding, At: "relay-1", ID: "withheld"},
	{Slot: 3, SlotMs: 7000, Actor: "user-1", Subject: RefundPaid, About: "user-1", Percent: 90.02},
	{Slot: 3, SlotMs: 1500, Actor: "rpc", Subject: HintSeen, About: "user-1"},
	{Slot: 3, SlotMs: 1600, Actor: "rpc", Subject: HintSeen, About: "user-1"},
	{Slot: 3, SlotMs: 1700, Actor: "searcher-1", Subject: HintHeard, At: "stream"},
	{Slot: 3, SlotMs: 1800, Actor: "searcher-1", Subject: HintRepeated, At: "stream"},
	{Slot: 3, SlotMs: 1900, Actor: "searcher-1", Subject: ListenerLeft, At: "stream"},
	{Slot: 4, SlotMs: 100, Actor: "searcher-1", Subject: HistoryKept, At: "stream"},
	{Slot: 3, SlotMs: 300, Actor: "rpc", Subject: RefundCredited, About: "friend", ID: "delayed",
		ValueWei: "2000000000000001"},
	{Slot: 3, SlotMs: 3000, Actor: "payer", Subject: RefundListed, At: "rpc", ValueWei: "2000000000000001"},
	{Slot: 4, SlotMs: 3000, Actor: "payer", Subject: BooksRight, At: "rpc", ValueWei: "2000000000000000"},
	{Slot: 4, SlotMs: 3000, Actor: "payer", Subject: RefundReceived, At: "rpc", ValueWei: "2000000000000000"},
	{Slot: 4, Actor: "chain", Subject: SlotFinished, ID: Missed},
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		expect string
		met    bool
		reason string
	}{
		{"delivered", true, "2 times: slot 1 +60ms (relay-1), slot 2 +90ms (relay-2)"},
		{"delivered by builder-2", true, "once: slot 2 +90ms (relay-2)"},
		{"delivered by builder-2 in slot 1", false, "never; delivered otherwise: builder-1 1×"},
		{"delivered by builder-1 at relay-2", false, "never; delivered otherwise: builder-1 1×, builder-2 1×"},
		{"delivered in every slot", false, "not in slot 3, 4"},
		{"delivered in slots 1..2 each", true, "in each of slots 1..2"},
		{"delivered 2 times", true, "2 times: slot 1 +60ms (relay-1), slot 2 +90ms (relay-2)"},
		{"delivered at least 3 times", false, "2 times: slot 1 +60ms (relay-1), slot 2 +90ms (relay-2)"},
		{"delivered at most 1 time", false, "2 times: slot 1 +60ms (relay-1), slot 2 +90ms (relay-2)"},
		{"delivered at most 1 time in slot 2", true, "once: slot 2 +90ms (relay-2)"},
		{"no payload revealed in slots 3..4", true, "never"},
		{"no payload revealed", false, "2 times: slot 1 +60ms (relay-1), slot 2 +90ms (relay-2)"},
		{"refused with submission-signature for builder-2", true, "once: slot 1 -900ms (relay-1)"},
		{"refused with payload-unknown at relay-1", true, "2 times: slot 3 +50ms (relay-1), slot 3 +55ms (proposers)"},
		{"refused with payload-too-late", false,
			"never; refused otherwise: builder-2 submission-signature 1×, payload-unknown 2×"},
		{"landed under fulu", true, "once: slot 2 +0ms (chain)"},
		{"local block in slot 3", true, "once: slot 3 +0ms (chain)"},
		{"missed slot in slot 4", true, "once: slot 4 +0ms (chain)"},
		{"demoted builder-2", true, "once: slot 2 +90ms (relay-2)"},
		{"demoted builder-1", false, "never; demoted otherwise: builder-2 1×"},
		{"monitor finds withheld at relay-1", true, "once: slot 3 +7000ms (monitor)"},
		{"monitor finds slow", false, "never; monitor finds otherwise: withheld 1×"},
		{"refund of 90% to user-1", true, "once: slot 3 +7000ms (user-1)"},
		{"refund of 80% to user-1", false, "never; refund otherwise: user-1 1×"},
		{"landed / slots = 0.5", true, "0.5 is = 0.5"},
		{"landed / slots = 0.6 ± 20%", true, "0.5 is = 0.6"},
		{"landed / slots = 0.6 ± 0.05", false, "0.5 is not = 0.6"},
		{"revenue = 0.05eth", true, "0.05 is = 0.05"},
		{"revenue(builder-2) > revenue(builder-1)", true, "0.03 is > 0.02"},
		{"revenue(slots=1..1) >= 0.03", false, "0.02 is not >= 0.03"},
		{"served-ms <= 20", true, "20 is <= 20"},
		{"served-ms(slots=4..4) < 20", false, "NaN < 20: there is nothing to measure"},
		{"bids(builder-2) < 2", true, "1 is < 2"},
		{"refusals = 3", true, "3 is = 3"},
		{"hint heard by searcher-1", true, "once: slot 3 +1700ms (searcher-1)"},
		{"no hint heard twice", false, "once: slot 3 +1800ms (searcher-1)"},
		{"listener left for searcher-1", true, "once: slot 3 +1900ms (searcher-1)"},
		{"history kept by searcher-1 in slot 3", false, "never"},
		{"hints-heard(searcher-1) / hints = 0.5", true, "0.5 is = 0.5"},
		{"refund listed in slot 3", true, "once: slot 3 +3000ms (payer)"},
		{"books right", true, "once: slot 4 +3000ms (payer)"},
		{"listed / promised = 1", true, "1 is = 1"},
		{"received / listed = 1", false, "1 is not = 1"}, // a wei is missing
	} {
		p, err := Parse("p.yaml", []byte("relays: 2\nusers: 1\nsearchers: 1\nexpect:\n  - \""+c.expect+"\"\n"))
		if err != nil {
			t.Error(err)
			continue
		}
		v := p.Judge(aRun, nil)[0]
		if v.Met != c.met || v.Reason != c.reason || v.Skipped || v.Line != 5 {
			t.Errorf("%s: %+v\nwant %v, %s", c.expect, v, c.met, c.reason)
		}
	}
}

// A comparison between variants is judged once both have run.
func TestJudgeVariants(t *testing.T) {
	p, err := Parse("p.yaml", []byte("vary: {delay: [0ms, 900ms]}\nproposers: request at $delay\n"+
		"expect: ['revenue(delay=900ms) > revenue(delay=0ms)', landed 2 times]"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Chosen.String(); got != "delay=0ms" {
		t.Errorf("the first variant is %q", got)
	}
	verdicts := p.Judge(aRun, nil)
	if v := verdicts[0]; v.Met || !v.Skipped || v.Reason != "variant delay=900ms did not run" || !AllMet(verdicts) {
		t.Errorf("alone: %+v", verdicts)
	}
	others := Runs{"delay=900ms": aRun[:5]}
	if v := p.Judge(aRun, others)[0]; v.Met || v.Skipped || v.Reason != "0.02 is not > 0.05" {
		t.Errorf("with the other: %+v", v)
	}
	later, err := p.With(p.Variants()[1])
	if err != nil {
		t.Fatal(err)
	}
	if got := later.Proposers[0].Strategy[0].String(); got != "request at 900ms" {
		t.Errorf("the second variant's proposers %s", got)
	}
}

func TestAllMet(t *testing.T) {
	met, skipped := Verdict{Met: true}, Verdict{Skipped: true}
	for _, c := range []struct {
		verdicts []Verdict
		want     bool
	}{{nil, false}, {[]Verdict{met, skipped}, true}, {[]Verdict{skipped}, false}, {[]Verdict{met, {}}, false}} {
		if got := AllMet(c.verdicts); got != c.want {
			t.Errorf("%+v: %v", c.verdicts, got)
		}
	}
}

// Without takes away what the scenario is about: key faults and strategies, and what it names
// itself.
func TestWithout(t *testing.T) {
	text := `
forks: [electra, fulu@1]
slots-per-epoch: 2
relays: [{behaviour: slow, key: true}, {behaviour: slow}]
builders:
  - {strategy: naive, key: true}
  - {strategy: bluff 1eth until 0s, key: true}
  - shade 5%
proposers: {strategy: equivocate, key: true}
faults:
  - {fault: reset, on: relay-1, key: true}
  - {fault: partition, on: relay-1}
without:
  forks: [electra]
`
	p, err := Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.Without()
	if err != nil {
		t.Fatal(err)
	}
	text = q.Text()
	for _, want := range []string{
		"forks:\n  - electra@0\nvalidators", "- behaviour: honest # relay-1\n  - behaviour: slow # relay-2",
		"- strategy: [offline] # builder-1", "- strategy: [naive] # builder-2", "- strategy: [shade 5%] # builder-3",
		"proposers:\n  - strategy: [honest]", "faults:\n  - fault: partition\n    on: relay-1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without its key, no %q in\n%s", want, text)
		}
	}
	if plain, err := Parse("p.yaml", []byte("faults: [{fault: reset, on: relay-1}]")); err != nil || plain.HasKey() ||
		!p.HasKey() {
		t.Errorf("has a key: %v, %v, %v", plain.HasKey(), p.HasKey(), err)
	}
}

// Another seed or speed is that of all variants, and of the plan without its key; nothing else
// changes.
func TestSeededAndSlower(t *testing.T) {
	p, err := Parse("p.yaml",
		[]byte("seed: 3\nspeed: 6\nvary: {delay: [0ms, 900ms]}\nproposers: {strategy: request at $delay, key: true}"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.Seeded(9)
	if err != nil {
		t.Fatal(err)
	}
	if q, err = q.Slower(3); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("seed: 3", "seed: 9", "speed: 6", "speed: 2").Replace
	if got := q.Text(); got != want(p.Text()) {
		t.Errorf("got\n%s", got)
	}
	for _, of := range []func(*Plan) (*Plan, error){
		(*Plan).Without, func(p *Plan) (*Plan, error) { return p.With(p.Variants()[1]) },
	} {
		before, err := of(p)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := of(q); err != nil || after.Text() != want(before.Text()) {
			t.Errorf("%v, got\n%s", err, after.Text())
		}
	}
}

func TestReadRecords(t *testing.T) {
	got, err := ReadRecords(
		strings.NewReader(
			`{"seq":1,"slot":2,"slot_ms":-5,"wall_ns":7,"actor":"relay-1","subject":"header_served","fact":{"a":1}}` + "\n"))
	if err != nil || len(got) != 1 || got[0].Slot != 2 || got[0].SlotMs != -5 || string(got[0].Fact) != `{"a":1}` {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadRecords(strings.NewReader("{}\n{broken")); err == nil ||
		!strings.Contains(err.Error(), "read fact 2") {
		t.Errorf("broken facts: %v", err)
	}
}
