package scenarios

import (
	"os"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/golden"
)

func parsed(t *testing.T, file string) *Plan {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestExplain(t *testing.T) {
	golden.File(t, "testdata/withheld.txt", parsed(t, "withheld.yaml").Explain())
}

func TestTextHasEveryDefault(t *testing.T) {
	golden.File(t, "testdata/withheld.full.yaml", parsed(t, "withheld.yaml").Text())
	empty, err := Parse("empty.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/empty.full.yaml", empty.Text())
}

// Every mistake names the file, the line, the key, and what may stand there.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"slotz: 3", `p.yaml:1: slotz: unknown key of the plan: give any of why, slots, slot, …`},
		{"- 3", `p.yaml:1: the plan: is a list: give keys with values, of why, …`},
		{"slots: 0", `p.yaml:1: slots: "0" is no number from 1 to 10000`},
		{"\nslots: many", `p.yaml:2: slots: "many" is no number from 1 to 10000`},
		{"slots: 3\nslots: 4", "p.yaml:…"},
		{"slot: 1500ms", `p.yaml:1: slot: is 1.5s: give whole seconds from 1s to 1h, since block timestamps count seconds`},
		{"speed: fast", `p.yaml:1: speed: is "fast": give a number from 0.01 to 1000; 1 runs like the wall clock`},
		{"seed: -1", `p.yaml:1: seed: is "-1": give a whole number, 0 or more`},
		{"forks: [shapella]",
			`p.yaml:1: forks: "shapella" is unknown: give one of bellatrix, capella, deneb, electra, fulu, …`},
		{"forks: [electra@1]", `p.yaml:1: forks: the first one is electra@1: it must begin at epoch 0`},
		{"forks: [fulu, electra@1]", `p.yaml:1: forks: electra@1 comes after fulu@0: give later forks at later epochs`},
		{"relays: 0", "p.yaml:1: relays: there are none: give at least 1"},
		{"relays: [{behaviour: nice}]", `p.yaml:1: behaviour: "nice" is unknown: give honest, or one of signature, …`},
		{"relays: [{}, {instance-of: relay-1}, {instance-of: relay-2}]", `p.yaml:1: instance-of: "relay-2" is no relay ` +
			`of its own that stands before this one: give one of relay-1`},
		{"relays: [{journal-nodes: 2}]",
			`p.yaml:1: journal-nodes: "2" is no size of a cluster that can lose a server: give 3 or 5`},
		{"relays: [{}, {instance-of: relay-1, journal-nodes: 3}]",
			`p.yaml:1: journal-nodes: relay-2 has the journal of relay-1: say it there`},
		{"relays: [{journal-nodes: 3}]\nfaults: [{fault: journal node 4 away, on: relay-1}]", `p.yaml:2: on: journal node ` +
			`4 away needs a relay whose journal-nodes are so many: those of relay-1 are 3`},
		{"builders: lots", `p.yaml:1: builders: "lots" is no number from 0 to 64, nor a list of what they do`},
		{"builders:\n- naive\n- timid",
			`p.yaml:3: builders: "timid" is not a builder's strategy: give one of naive, adaptive +VALUE, …`},
		{"builders: [shade 12]", `p.yaml:1: builders: "shade 12": "12" is no percentage: give one from 0% to 100%`},
		{"builders: [adaptive 1gwei, bluff]", `p.yaml:1: builders: "bluff": write it as bluff VALUE until TIME`},
		{"builders: [last-minute at soon]",
			`p.yaml:1: builders: "last-minute at soon": "soon" is no time: give one with its unit, …`},
		{"builders: [cheat everything]",
			`p.yaml:1: builders: "cheat everything": check "everything" is unknown: give one of value, …`},
		{"builders: [cancel when bored]",
			`p.yaml:1: builders: "cancel when bored": condition "bored" is unknown: give one of leading, outbid`},
		{"builders: [[naive, naive]]", `p.yaml:1: builders: "naive" stands twice in one strategy`},
		{"builders: [only relay-2]", `p.yaml:1: builders: "only relay-2": relay "relay-2" is unknown: give one of relay-1`},
		{"proposers: [{slots: 3..9}]", `p.yaml:1: slots: slot "9" is no number from 1 to 4`},
		{"proposers:\n- local\n- offline", `p.yaml:3: proposers: all slots have two strategies: give each slot one`},
		{"circuit-breaker: on",
			`p.yaml:1: circuit-breaker: "on" is no breaker: give off, or limits, as in {missed-in-row: 5}`},
		{"circuit-breaker: {missed: 3}", "p.yaml:1: circuit-breaker: missed and window belong together: …"},
		{"faults: [{fault: fire, on: relay-1}]", `p.yaml:1: fault: "fire" is not a fault: give one of latency DURATION, …`},
		{"faults: [{fault: reset, on: relay-9}]", `p.yaml:1: on: "relay-9" is unknown: give one of beacon, proposers, …`},
		{"faults: [{fault: kill, on: beacon -> relay-1}]",
			`p.yaml:1: on: kill breaks a service, not a connection: give one name`},
		{"faults: [{fault: partition, on: journal}]",
			`p.yaml:1: on: "journal": only relays go to a journal: say which one, as in relay-2 -> journal`},
		{"faults: [{fault: partition, on: builder-1 -> journal}]",
			`p.yaml:1: on: "builder-1 -> journal": only relays go to a journal: say which one, as in relay-2 -> journal`},
		{"latency: [{on: journal -> relay-1, time: 1s}]",
			`p.yaml:1: latency: on: "journal -> relay-1": only relays go to a journal: say which one, as in relay-2 -> journal`},
		{"faults: [{fault: answer 500, on: relay-1 -> journal}]",
			`p.yaml:1: on: answer 500 needs a connection with requests of HTTP: on the way to a journal there can be latency, ` +
				`partition and reset`},
		{"faults: [{fault: kill, on: builder-1}]", `p.yaml:1: on: kill needs a service: give a relay, beacon, rpc or stream`},
		{"faults: [{fault: known blocks refused, on: relay-1}]",
			`p.yaml:1: on: known blocks refused needs the beacon node: give beacon`},
		{"faults: [{fault: known blocks refused, on: relay-1 -> beacon}]",
			`p.yaml:1: on: known blocks refused breaks a service, not a connection: give one name`},
		{"faults: [{fault: committee absent, on: relay-1}]",
			`p.yaml:1: on: committee absent needs the beacon node: give beacon`},
		{"faults: [{fault: envelopes refused, on: proposers}]",
			`p.yaml:1: on: envelopes refused needs the beacon node: give beacon`},
		{"builders: [stake 5]", `p.yaml:1: builders: "stake 5": "5" is no value: give one with its unit, …`},
		{"proposers: [minimum bid]", `p.yaml:1: proposers: "minimum bid": write it as minimum bid VALUE`},
		{"proposers: [boost 101%]", `p.yaml:1: proposers: "boost 101%": "101%" is no percentage: give one from 0% to 100%`},
		{"expect: [empty slot because rain]",
			`p.yaml:1: expect: "empty slot because rain": cause "rain" is unknown: give one of withheld, unseen, no-blobs`},
		{"faults: [{fault: pause, on: beacon}]",
			`p.yaml:1: on: pause needs a process of its own: give a relay, rpc or stream`},
		{"faults: [{fault: clock jump 1s, on: proposers}]",
			`p.yaml:1: on: clock jump 1s needs a process of its own: give a relay, rpc or stream`},
		{"faults: [{fault: pause, on: rpc}]", `p.yaml:1: on: rpc does not run: give users or searchers`},
		{"faults: [{fault: disk full, on: beacon}]",
			`p.yaml:1: on: disk full needs a process of its own: give a relay, rpc or stream`},
		{"faults: [{fault: slow disk, on: relay-1}]", `p.yaml:1: fault: "slow disk": write it as slow disk DURATION`},
		{"faults: [{fault: journal away, on: stream}]",
			`p.yaml:1: on: journal away needs a service with a journal of its own: give a relay, or rpc`},
		{"faults:\n- {fault: power cut, on: relay-1, until: slot 2}\n- {fault: database down, on: relay-1}",
			`p.yaml:3: on: power cut and database down are on relay-1 both: give a story to each`},
		{"faults: [{fault: kill, on: stream}]", `p.yaml:1: on: stream does not run: give users or searchers`},
		{"payer: true", `p.yaml:1: payer: there are no refunds to pay: give users or searchers`},
		{"faults: [{fault: database down, on: beacon}]", `p.yaml:1: on: database down needs a relay: give one of relay-1`},
		{"faults:\n- fault: reset\n  on: relay-1\n  from: later",
			`p.yaml:4: from: "later" is no moment: write it as slot 3 or slot 3 -200ms`},
		{"faults:\n- {fault: reset, on: relay-1, from: slot 3, until: slot 2}",
			`p.yaml:2: until: slot 2 is not after slot 3`},
		{"vary: {delay: [1s, 2s]}", `p.yaml:1: delay: varies, but stands nowhere: write $delay where its value belongs`},
		{"vary: {delay: [1s]}", `p.yaml:1: delay: what varies needs two values or more`},
		{"vary: {d: [1s, x]}\nslot: $d", `variant d=x: p.yaml:2: slot: "x" is no duration: …`},
		{"expect: [peace]", `p.yaml:1: expect: "peace": is no event and no comparison: events are delivered, …`},
		{"expect: [delivered by builder-9]",
			`p.yaml:1: expect: "delivered by builder-9": builder "builder-9" is unknown: give one of builder-1, builder-2`},
		{"expect: [delivered to user-1]",
			`p.yaml:1: expect: "delivered to user-1": "to" does not belong to delivered: give at RELAY, by BUILDER, …`},
		{"expect: [landed in slot 5]", `p.yaml:1: expect: "landed in slot 5": slot "5" is no number from 1 to 4`},
		{"expect: [joy > 3]", `p.yaml:1: expect: "joy > 3": "joy" is no quantity: give a number or one of slots, landed, …`},
		{"expect: [3 > 2]", `p.yaml:1: expect: "3 > 2": two numbers: give at least one of slots, …`},
		{"expect: [landed(d=3) > 2]", `p.yaml:1: expect: "landed(d=3) > 2": "landed(d=3)": "d" varies nowhere in this plan`},
		{"without: {expect: []}", "p.yaml:1: expect: unknown key of without: give any of why, …"},
		{"slots: &a 3", "p.yaml:1: Anchor: write plain values, lists and keys, without anchors, aliases or tags"},
		{"slots: 3\n---\nslots: 4", "p.yaml:3: a second document: a file has one plan"},
	} {
		_, err := Parse("dir/p.yaml", []byte(c.text))
		if err == nil {
			t.Errorf("%q is taken", c.text)
			continue
		}
		start, open := strings.CutSuffix(c.want, "…")
		if !strings.HasPrefix(err.Error(), start) || !open && err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Proposers have the usual circuit breaker unless a plan gives them another one, or none.
func TestCircuitBreaker(t *testing.T) {
	for text, want := range map[string]devnet.BreakerLimits{
		"slots: 1":                                {MissedInRow: 5},
		"circuit-breaker:":                        {MissedInRow: 5},
		"circuit-breaker: {}":                     {MissedInRow: 5},
		"circuit-breaker: off":                    {},
		"circuit-breaker: {missed-in-row: 3}":     {MissedInRow: 3},
		"circuit-breaker: {missed: 2, window: 4}": {MissedOf: 2, Window: 4},
	} {
		p, err := Parse("p.yaml", []byte(text))
		if err != nil || p.Breaker != want {
			t.Errorf("%s: %+v, %v", text, p, err)
			continue
		}
		if again, err := Parse("p.yaml", []byte(p.Text())); err != nil || again.Breaker != want {
			t.Errorf("%s, written out: %+v, %v", text, again, err)
		}
	}
}
