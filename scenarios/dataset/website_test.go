package dataset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/web"
)

// written keeps rows of all tables as text.
type written struct {
	t    *testing.T
	text strings.Builder
}

func (w *written) Row(at int64, row any) error {
	fmt.Fprintf(&w.text, "%d ", at)
	switch row := row.(type) {
	case *Bid:
		w.text.WriteString("bid " + table(w.t, Bids, []*Bid{row}))
	case *Delivery:
		w.text.WriteString("delivery " + table(w.t, Deliveries, []*Delivery{row}))
	case *Request:
		w.text.WriteString("request " + table(w.t, Requests, []*Request{row}))
	default:
		return fmt.Errorf("a %T is a row of no table", row)
	}
	return nil
}

func (w *written) Bad(at int64, text string, why error) error {
	fmt.Fprintf(&w.text, "%d bad: %v: %s\n", at, why, cut(text))
	return nil
}

func (w *written) Note(string) error { return nil }

// What the website shows of an auction becomes rows: while it runs nothing, and then everything.
func TestWebsite(t *testing.T) {
	const slot = phase0.Slot(9_000_000)
	spec := &eth.Spec{GenesisTime: time.Unix(mainnet.GenesisTime, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	begin := spec.SlotStart(slot)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	trace := func(n byte, valueWei uint64) relay.Trace {
		return relay.Trace{Slot: slot, Builder: phase0.BLSPubKey{n, n}, BlockHash: phase0.Hash32{n}, NumTx: int(n),
			NumBlobs: 1, ValueWei: uint256.NewInt(valueWei), Proposer: phase0.BLSPubKey{9},
			FeeRecipient: relay.FeeRecipient{0xfe},
			BlockNumber:  77, GasUsed: 21_000}
	}
	auctions := web.Auctions{Spec: spec}
	for _, fact := range []relay.Fact{
		relay.SubmissionJudged{Trace: trace(1, 4e17), ReceivedAt: at(-3000), EligibleAt: at(-2999), Optimistic: true},
		relay.TopChanged{At: at(-2999), Trace: trace(1, 4e17)},
		relay.SubmissionJudged{Trace: trace(2, 5e17), ReceivedAt: at(-2000), EligibleAt: at(-1999), Cancellable: true},
		relay.TopChanged{At: at(-1999), Trace: trace(2, 5e17)},
		relay.SubmissionJudged{Trace: trace(3, 777), ReceivedAt: at(-1500), Refusal: relay.SubmissionInvalid.ID},
		relay.SubmissionJudged{Trace: relay.Trace{Slot: slot, ValueWei: uint256.NewInt(888)}, ReceivedAt: at(-1400),
			Refusal: relay.SubmissionSignature.ID},
		relay.TopChanged{At: at(-1000), Trace: relay.Trace{Slot: slot}},
		relay.TopChanged{At: at(-999), Trace: trace(1, 4e17)},
		relay.HeaderServed{At: at(500), Slot: slot, Builder: phase0.BLSPubKey{1, 1}, BlockHash: phase0.Hash32{1},
			ValueWei: uint256.NewInt(4e17)},
		relay.PayloadDelivered{At: at(900), Trace: trace(1, 4e17), MsIntoSlot: 880, PaidWei: uint256.NewInt(4e17 + 1)},
	} {
		auctions.Record(fact)
	}
	known, _ := auctions.Of(slot)
	policy := &web.Policy{Spec: spec, OverAfter: 4 * time.Second, Name: func(phase0.BLSPubKey) string { return "" }}
	page := func(at time.Time, shown web.Auction) string {
		raw, err := json.Marshal(policy.SlotPage(policy.Show(&shown, at)))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + "\n"
	}
	running := known
	running.Delivered = nil
	late := trace(4, 6e17)
	late.Slot++
	archived, err := json.Marshal(policy.ArchivedSlotPage(late.Slot, nil, []relay.ReceivedTrace{
		{Trace: late, ReceivedAt: begin.Add(12500 * time.Millisecond), Optimistic: true}}))
	if err != nil {
		t.Fatal(err)
	}
	over := page(begin.Add(5*time.Second), known)
	rows := &written{t: t}
	for name, content := range map[string]string{"over": over, "archived": string(archived)} {
		if f, err := Recognise([]byte(content)); err != nil || f.Name != "website" {
			t.Fatalf("%s: %v, %v", name, f, err)
		}
	}
	pages := over + page(begin.Add(time.Second), running) + string(archived) +
		strings.Replace(over, `"into_slot_ms":500`, `"into_slot_ms":99999999999999999`, 1) + `{"bids":[],"title":"Landing"}`
	if err := websiteSlots.Read(strings.NewReader(pages), Origin{Network: mainnet, Relay: "mine"}, rows); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/website.txt", rows.text.String())
	if err := websiteSlots.Read(strings.NewReader(over[:len(over)/2]), Origin{Network: mainnet}, rows); err == nil {
		t.Error("half of a page passed as whole")
	}
}
