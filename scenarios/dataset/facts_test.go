package dataset

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
)

// runFacts are the facts of a run in which a builder bids high and then takes the bid back.
func runFacts(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile("../testdata/facts.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func readRun(t testing.TB, content string) collected {
	t.Helper()
	network, err := RunNetwork(strings.NewReader(content), 0)
	if err != nil {
		t.Fatal(err)
	}
	var rows collected
	if err := RunFacts.Read(strings.NewReader(content), Origin{Network: network}, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// delivery is a fact as a relay writes it.
const deliveredFact = `{"seq":41,"slot":1,"slot_ms":739,"wall_ns":1,"actor":"relay-1","subject":"payload_delivered","fact":{` +
	`"at":"2026-11-21T15:14:28.739826Z","slot":"1","parent_hash":"0x` + zeros64 + `","block_hash":"0x` + zeros64 + `",` +
	`"builder_pubkey":"0x` + zeros96 + `","proposer_pubkey":"0x` + zeros96 + `",` +
	`"proposer_fee_recipient":"0xF374D72Cf4E6891b36B04eA5b5073Ebc04012Aa7","gas_limit":60000000,"gas_used":443720,` +
	`"value":"1123002000000000","num_tx":21,"num_blobs":2,"block_number":1,"paid":"1123002000000001"}}` + "\n"

const (
	servedFact = `{"seq":40,"slot":1,"slot_ms":373,"actor":"relay-1","subject":"header_served","fact":{"at":` +
		`"2026-11-21T15:14:28.373453144Z","slot":"1","proposer_pubkey":"0x` + zeros96 + `","block_hash":"0x` + zeros64 + `",` +
		`"builder_pubkey":"0x` + zeros96 + `","value":"1123002000000000"}}` + "\n"
	zeros64 = "0000000000000000000000000000000000000000000000000000000000000000"
	zeros96 = "0000000000000000000000000000000000000000000000000000000000000000" + "00000000000000000000000000000000"
)

func TestRunFacts(t *testing.T) {
	facts := strings.SplitAfter(runFacts(t), "\n")
	refused := strings.Replace(facts[1], `"verified":true`, `"verified":false,"refusal":"value-mismatch"`, 1)
	rows := readRun(t, strings.Join(facts[:3], "")+refused+servedFact+deliveredFact+facts[9]+`{"seq":9,"subject":"top_heard"}`)
	if len(rows.bad) > 0 {
		t.Fatal(rows.bad)
	}
	golden.File(t, "testdata/run.rows", table(t, Bids, rows.bids)+table(t, Deliveries, rows.deliveries))
}

// A network of a run is found from its facts, and with the length of a slot also from one slot's.
func TestRunNetwork(t *testing.T) {
	facts := runFacts(t)
	want := Network{"run-1795274056", 1795274056, 12}
	one := strings.Join(strings.SplitAfter(facts, "\n")[:7], "")
	half := strings.ReplaceAll(facts, `"slot_ms":-`, `"slot_ms":-5`)
	for _, c := range []struct {
		name, facts string
		slot        time.Duration
		err         error
	}{
		{"two slots", facts, 0, nil},
		{"a given length", one, 12 * time.Second, nil},
		{"one slot", one, 0, errOneSlot},
		{"no facts", `{"seq":1,"slot":1}`, 0, errNoFacts},
		{"no text", "\x00", 0, errNoFacts},
		{"part of a second", half, 2500 * time.Millisecond, errPartSecond},
		{"a long line", strings.Repeat("x", maxLine+1), 0, errLongLine},
	} {
		got, err := RunNetwork(strings.NewReader(c.facts), c.slot)
		if !errors.Is(err, c.err) || err == nil && got != want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// Lines that are no facts are bad rows with their number; so is the last line of a run that was
// killed.
func TestBadFacts(t *testing.T) {
	facts := runFacts(t)
	lines := strings.SplitAfter(facts, "\n")
	for _, c := range []struct{ line, want string }{
		{lines[1][:300], "28: not a fact"},
		{"{}x", "28: not a fact"},
		{`{"subject":"submission_judged"}`, "28: submission_judged without what its actor wrote"},
		{`{"subject":"submission_judged","fact":[]}`, "28: submission_judged: "},
		{`{"subject":"submission_judged","fact":{"slot":"1"}}`, "28: no value"},
		{strings.Replace(lines[1], `"slot":"1"`, `"slot":"68719476736"`, 1), "28: slot 68719476736 is beyond 2^36"},
		{strings.Replace(lines[1], `"slot":"1"`, `"slot":"99999"`, 1), "28: received_at is more than a day away"},
		{strings.Replace(lines[1], `"gas_used":449130`, `"gas_used":18446744073709551615`, 1), "28: gas_used: not a number"},
		{strings.Replace(lines[1], `"value":"3`, `"value":"9999999999999999999999999`, 1), "28: more than 10^38-1 wei"},
	} {
		rows := readRun(t, facts+c.line)
		if len(rows.bids) != 27 || len(rows.bad) != 1 || !strings.HasPrefix(rows.bad[0], c.want) {
			t.Errorf("%s: %d bids, bad %q", c.line, len(rows.bids), rows.bad)
		}
	}
}

// Whatever a run folder has, reading it ends, and a bid has what each row needs.
func FuzzRunFacts(f *testing.F) {
	for line := range strings.Lines(runFacts(f)) { // short ones are tried more often
		f.Add(line)
	}
	f.Add(servedFact + deliveredFact)
	for _, text := range someOrders(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, content string) {
		var rows collected
		if err := RunFacts.Read(strings.NewReader(content), Origin{Network: mainnet}, &rows); err != nil {
			return
		}
		for _, o := range rows.orders {
			if !o.Slot.Known || !o.ReceivedAt.Known || o.BlockNumber.V < 0 || !slices.Contains(orderStates, o.State) {
				t.Errorf("%+v", o)
			}
		}
		for _, s := range rows.slots {
			if !s.SlotStart.Known || s.GasUsed.V < 0 || !slices.Contains(outcomesOfSlots, s.Outcome) {
				t.Errorf("%+v", s)
			}
		}
		for _, b := range rows.bids {
			if !b.Slot.Known || !b.ValueWei.Known || !b.SlotStart.Known || b.GasUsed.V < 0 {
				t.Errorf("%+v", b)
			}
		}
	})
}
