package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

var spec = &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}

const slot = phase0.Slot(100)

// begin is the start of the slot.
var begin = spec.SlotStart(slot)

func keyOf(n byte) (key phase0.BLSPubKey) {
	for i := range key {
		key[i] = 0xA0 + n
	}
	return key
}

func hashOf(n byte) (hash phase0.Hash32) {
	for i := range hash {
		hash[i] = 0xB0 + n
	}
	return hash
}

func traceOf(builder, block byte, valueWei uint64) relay.Trace {
	return relay.Trace{Slot: slot, Builder: keyOf(builder), BlockHash: hashOf(block), ValueWei: uint256.NewInt(valueWei),
		NumTx: 3, FeeRecipient: relay.FeeRecipient{0xFE, 0xEE}, Proposer: keyOf(9)}
}

// auction is one slot: two builders, a bid that never leads, a refusal, a bid taken back, a header,
// and a delivery at the end if it is wanted.
func auction(delivered bool) []relay.Fact {
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	bid := func(trace relay.Trace, ms int) relay.SubmissionJudged {
		return relay.SubmissionJudged{Trace: trace, ReceivedAt: at(ms), EligibleAt: at(ms + 1), Verified: true}
	}
	facts := []relay.Fact{
		bid(traceOf(1, 1, 4e17), -3000), relay.TopChanged{At: at(-2999), Trace: traceOf(1, 1, 4e17)},
		bid(traceOf(2, 2, 123456789012345678), -2500), // never leads
		bid(traceOf(2, 3, 5e17), -2000), relay.TopChanged{At: at(-1999), Trace: traceOf(2, 3, 5e17)},
		relay.SubmissionJudged{Trace: traceOf(2, 4, 777), ReceivedAt: at(-1500), Refusal: relay.SubmissionInvalid.ID,
			Detail: "node el-7.internal says payment: 10.1.2.3"},
		relay.SubmissionJudged{Trace: relay.Trace{Slot: slot, ValueWei: uint256.NewInt(888)}, ReceivedAt: at(-1400),
			Refusal: relay.SubmissionSignature.ID},
		relay.TopChanged{At: at(-1000), Trace: relay.Trace{Slot: slot, Proposer: keyOf(9)}}, // taken back
		relay.TopChanged{At: at(-999), Trace: traceOf(1, 1, 4e17)},
		relay.HeaderServed{At: at(500), Slot: slot, Builder: keyOf(1), BlockHash: hashOf(1), ValueWei: uint256.NewInt(4e17)},
	}
	if delivered {
		facts = append(facts, relay.PayloadDelivered{At: at(900), Trace: traceOf(1, 1, 4e17), MsIntoSlot: 880})
	}
	return facts
}

func recorded(facts []relay.Fact) Auction {
	a := Auctions{Spec: spec}
	for _, fact := range facts {
		a.Record(fact)
	}
	found, _ := a.Of(slot)
	return found
}

func policyOf(p Policy) *Policy {
	p.Spec, p.OverAfter = spec, 4*time.Second
	p.Name = func(key phase0.BLSPubKey) string {
		if key == keyOf(1) {
			return "alpha"
		}
		return ""
	}
	return &p
}

// written is all that a page says, in any of its forms.
func written(t rapid.TB, page Page) string {
	t.Helper()
	raw, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + page.Markdown() + fmt.Sprintf("%+v", page)
}

// Each row of the policy's table: what is on the slot's page while the auction runs, and what is
// once it is over.
func TestPolicy(t *testing.T) {
	const (
		losing, leading = "123456789012345678", "400000000000000000"
		refusal         = "submission-invalid"
	)
	keyB, hash := strings.Repeat("a2", 48), strings.Repeat("b3", 32)
	for name, row := range map[string]struct {
		policy          Policy
		at              time.Duration
		delivered       bool
		shown, heldBack []string
	}{
		"running": {shown: []string{losing, leading, refusal}, heldBack: []string{keyB, hash, "alpha", "receipt"}},
		"running, losing bids held back": {policy: Policy{HideLosing: true}, shown: []string{leading, refusal},
			heldBack: []string{losing, `"777"`, keyB, hash, "alpha"}},
		"running, leading bids for builders only": {policy: Policy{HideLeading: true}, shown: []string{refusal},
			heldBack: []string{losing, leading, "500000000000000000", `"777"`, keyB, hash, "alpha"}},
		"at the last moment": {policy: Policy{HideLosing: true}, at: 4*time.Second - 1, heldBack: []string{losing, keyB}},
		"over by time": {policy: Policy{HideLosing: true, HideLeading: true}, at: 4 * time.Second,
			shown: []string{losing, leading, refusal, keyB, hash, "alpha"}},
		"over by delivery": {policy: Policy{HideLosing: true}, at: time.Second, delivered: true,
			shown: []string{losing, leading, refusal, keyB, hash, "alpha", "880"}},
	} {
		t.Run(name, func(t *testing.T) {
			known := recorded(auction(row.delivered))
			p := policyOf(row.policy)
			said := written(t, p.SlotPage(p.Show(&known, begin.Add(row.at))))
			for _, want := range row.shown {
				if !strings.Contains(said, want) {
					t.Errorf("the page lacks %s", want)
				}
			}
			for _, secret := range append(row.heldBack, "el-7", "10.1.2.3") { // details are never shown
				if strings.Contains(said, secret) {
					t.Errorf("the page tells %s", secret)
				}
			}
		})
	}
}

// Whatever happens in an auction, no page of it tells a public key or a hash of a builder before it
// is over, nor a value that is held back.
func TestNothingSecretIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Auctions{Spec: spec}
		for range rapid.IntRange(0, 30).Draw(t, "facts") {
			trace := traceOf(rapid.ByteRange(0, 4).Draw(t, "builder"), rapid.ByteRange(0, 6).Draw(t, "block"), 0)
			trace.ValueWei = uint256.NewInt(918273645000000 + uint64(trace.BlockHash[0]))
			at := begin.Add(time.Duration(rapid.IntRange(-12000, 3900).Draw(t, "ms")) * time.Millisecond)
			a.Record(rapid.SampledFrom([]relay.Fact{
				relay.SubmissionJudged{Trace: trace, ReceivedAt: at, EligibleAt: at},
				relay.SubmissionJudged{Trace: trace, ReceivedAt: at, Refusal: relay.SubmissionStale.ID},
				relay.TopChanged{At: at, Trace: trace},
				relay.HeaderServed{At: at, Slot: slot, Builder: trace.Builder, BlockHash: trace.BlockHash,
					ValueWei: trace.ValueWei},
				relay.PayloadRefused{At: at, Slot: slot, BlockHash: trace.BlockHash, Refusal: relay.PayloadUnknown.ID},
			}).Draw(t, "fact"))
		}
		known, _ := a.Of(slot)
		p := policyOf(Policy{HideLeading: true})
		said := strings.ToLower(written(t, p.SlotPage(p.Show(&known, begin.Add(4*time.Second-1)))))
		for _, secret := range []string{"a0a0a0", "a1a1a1", "a2a2a2", "a3a3a3", "a4a4a4", "b0b0b0", "b3b3b3", "b6b6b6",
			"918273645", "0.000918", "alpha"} {
			if strings.Contains(said, secret) {
				t.Fatalf("the page tells %s: %s", secret, said)
			}
		}
	})
}

// What strangers can send in any number neither drives out auctions nor bids.
func TestStrangersDriveNothingOut(t *testing.T) {
	a := Auctions{Spec: spec}
	for _, fact := range auction(true) {
		a.Record(fact)
	}
	for i := range 20_000 {
		trace := relay.Trace{Slot: slot + phase0.Slot(i%7)*1_000_000, ValueWei: uint256.NewInt(1)}
		a.Record(relay.SubmissionJudged{Trace: trace, ReceivedAt: begin, Refusal: relay.SubmissionSignature.ID})
	}
	a.Record(relay.SubmissionJudged{Trace: traceOf(3, 5, 9e17), ReceivedAt: begin, EligibleAt: begin})
	known, _ := a.Of(slot)
	if len(known.Bids) != 4 || len(known.Refusals) != maxRefused || len(a.Listed()) != 1 || known.Delivered == nil {
		t.Errorf("%d bids, %d refusals, slots %v", len(known.Bids), len(known.Refusals), a.Listed())
	}
	if got := known.RefusedTimes[relay.SubmissionSignature.ID]; got != 20_000/7+2 {
		t.Errorf("%d counted", got)
	}
	for i := range phase0.Slot(200) {
		trace := traceOf(1, 1, 1)
		trace.Slot = slot + i
		a.Record(relay.TopChanged{At: spec.SlotStart(slot + i), Trace: trace})
	}
	if listed := a.Listed(); len(listed) != Slots || listed[0] != slot+199 || listed[Slots-1] != slot+200-Slots {
		t.Errorf("slots %v", listed)
	}
}

// A copy stays as it is while the auction goes on.
func TestACopyStays(t *testing.T) {
	a := Auctions{Spec: spec}
	facts := auction(true)
	for _, fact := range facts[:6] {
		a.Record(fact)
	}
	before, _ := a.Of(slot)
	bids, refused := len(before.Bids), before.RefusedTimes[relay.SubmissionInvalid.ID]
	for _, fact := range append(facts[6:], facts...) {
		a.Record(fact)
	}
	if len(before.Bids) != bids || before.RefusedTimes[relay.SubmissionInvalid.ID] != refused || before.Delivered != nil {
		t.Errorf("%+v", before)
	}
}

// Whatever a name holds, Markdown shows it as text.
func TestMarkdownShowsOnlyText(t *testing.T) {
	evil := "<script>x</script> [a](javascript:b) | ![i](//x) `c` **d** # e\n- f \\| g"
	p := policyOf(Policy{})
	p.Name = func(phase0.BLSPubKey) string { return evil }
	known := recorded(auction(true))
	said := p.SlotPage(p.Show(&known, begin.Add(time.Hour))).Markdown()
	for _, mark := range []string{"<script", "](javascript", "](//x)", "\n- f", " **d", " `c"} {
		if strings.Contains(said, mark) {
			t.Errorf("%q is there: %s", mark, said)
		}
	}
	for line := range strings.Lines(said) {
		if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); strings.HasPrefix(line, "|") && cells != 5 &&
			cells != 11 && cells != 3 {
			t.Errorf("%d cells: %s", cells, line)
		}
	}
}

func TestSort(t *testing.T) {
	made := func() Page {
		return Page{Tables: []Table{{ID: "a", Columns: []string{"Into slot ms", "Value ETH"}, Rows: [][]Cell{
			{number(-5), ether(uint256.NewInt(9e17))}, {number(-40), ether(uint256.MustFromDecimal("20000000000000000000"))},
			{number(300), ether(nil)},
		}}}}
	}
	for by, want := range map[string]string{
		"": "-5 -40 300", "a.into_slot_ms": "-40 -5 300", "-a.into_slot_ms": "300 -5 -40", "a.value_eth": "300 -5 -40",
		"-a.value_eth": "-40 -5 300", "b.value_eth": "-5 -40 300", "-": "-5 -40 300", "a.": "-5 -40 300", "a": "-5 -40 300",
	} {
		page, got := made(), []string{}
		page.Sort(by)
		for _, row := range page.Tables[0].Rows {
			got = append(got, row[0].Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", by, got, want)
		}
	}
	page := made()
	if first := page.Tables[0].SortBy("Value ETH"); first != "-a.value_eth" {
		t.Errorf("the first click sorts by %s", first)
	}
	page.Sort("-a.value_eth")
	if again := page.Tables[0].SortBy("Value ETH"); again != "a.value_eth" ||
		page.Tables[0].Direction("Value ETH") != "descending" {
		t.Errorf("the second click sorts by %s", again)
	}
}

func TestEther(t *testing.T) {
	for wei, want := range map[string]string{
		"0": "0.000000", "999999999999": "0.000000", "1000000000000": "0.000001", "400000000000000000": "0.400000",
		"1999999999999999999": "1.999999", "1000000000000000000000000": "1000000.000000",
		// the greatest number
		"115792089237316195423570985008687907853269984665640564039457584007913129639935": "1157920892373161954235709850" +
			"08687907853269984665640564039457.584007",
	} {
		if got := Ether(uint256.MustFromDecimal(wei)); got != want {
			t.Errorf("%s wei are %s, want %s", wei, got, want)
		}
	}
}

// The pages' JSON has amounts in wei as text, and shares add up.
func TestLanding(t *testing.T) {
	p := policyOf(Policy{})
	var delivered []relay.DeliveredTrace
	for i := range 3 {
		trace := traceOf(byte(1+i/2), byte(i), 1e18)
		trace.Slot -= phase0.Slot(i)
		delivered = append(delivered, relay.DeliveredTrace{Trace: trace, PaidWei: uint256.NewInt(2e18)})
	}
	raw, err := json.Marshal(p.Landing(Status{Network: "hoodi", Ready: true, HeadSlot: slot, Validators: 10,
		Registrations: 5}, delivered))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Title, Status string
		Shares        []struct {
			Builder  string
			Blocks   int
			Share    float64
			ValueETH string `json:"value_eth"`
		}
		Delivered []struct{ Slot int }
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	first := read.Shares[0]
	if read.Title != "gavel relay · hoodi" || read.Status != "serves headers" || len(read.Shares) != 2 ||
		first.Builder != "0x"+strings.Repeat("a1", 48) || first.Blocks != 2 || first.ValueETH != "2000000000000000000" ||
		first.Share < 66 || first.Share > 67 || len(read.Delivered) != 3 || read.Delivered[0].Slot != 100 {
		t.Errorf("%s", raw)
	}
}
