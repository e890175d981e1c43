package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A slot's page of a relay's website, as JSON (docs/relay.md, "Website"): the receipt of what was
// delivered, every submission with its refusal, who led, and which headers were served. Times are
// in whole milliseconds of the slot.

var websiteSlots = Format{
	Name: "website", Place: Row,
	Doc: "slots' pages of our relay's website, as JSON, one after the other: submissions with refusals, leading bids, " +
		"headers served, and the receipt of the delivered payload",
	begins: func(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte(`{"bids":[`)) },
	Read: func(in io.Reader, from Origin, to Sink) error {
		pages := json.NewDecoder(in)
		for at := int64(1); ; at++ {
			var raw json.RawMessage
			err := pages.Decode(&raw)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return fmt.Errorf("after page %d: %w", at-1, err)
			}
			if err := readShownSlot(at, raw, from, to); err != nil {
				return err
			}
		}
	},
}

// shownSlot is a page. Amounts are in wei.
type shownSlot struct {
	Title, Status string
	Notes         []string
	Proposer      string
	Bids          []shownBid
	Leads         []shownBid
	Headers       []shownBid
	// Delivered is yes or no, and for slots of which only the archive is left a list.
	Delivered    json.RawMessage
	DeliveredBy  string `json:"delivered_by"`
	Value        string `json:"delivered_value_eth"`
	Paid         string `json:"paid_eth"`
	SignedMs     *int64 `json:"signed_block_into_slot_ms"`
	BlockNumber  number `json:"block_number"`
	BlockHash    string `json:"block_hash"`
	FeeRecipient string `json:"fee_recipient"`
	GasUsed      number `json:"gas_used"`
	Transactions number
	Blobs        number
}

// shownBid is a row of any of the page's tables.
type shownBid struct {
	IntoSlotMs *int64 `json:"into_slot_ms"`
	Builder    string
	Value      string `json:"value_eth"`
	Became     string
	Refusal    string
	Cancels    string
	Optimistic string
	BlockHash  string `json:"block_hash"`

	Times, Transactions, Blobs number
}

// unproven is who sent a submission that was refused before its signature was verified.
const unproven = "not proven"

// Why a page has no rows, or not all.
var (
	errRunning  = errors.New("the auction runs: builders have no names and blocks no hashes yet")
	errNoPage   = errors.New("it is not the page of a slot")
	errUnlisted = errors.New("the page only counts these")
)

func readShownSlot(at int64, raw json.RawMessage, from Origin, to Sink) error {
	var page shownSlot
	if err := json.Unmarshal(raw, &page); err != nil {
		return to.Bad(at, string(raw), err)
	}
	slot, err := page.slot()
	if err != nil {
		return to.Bad(at, string(raw), err)
	}
	for _, note := range page.Notes {
		if strings.Contains(note, "only counted") {
			if err := to.Bad(at, note, errUnlisted); err != nil {
				return err
			}
		}
	}
	r := shownReader{at: at, slot: slot, begins: from.Network.startMicros(slot.V), page: &page, from: from, to: to}
	for _, table := range []struct {
		kind Text
		rows []shownBid
	}{{Submission, page.Bids}, {TopStream, page.Leads}, {HeaderPoll, page.Headers}} {
		for i := range table.rows {
			if err := r.bid(table.kind, &table.rows[i]); err != nil {
				return err
			}
		}
	}
	if string(page.Delivered) == `"yes"` {
		return r.delivery()
	}
	return nil
}

func (p *shownSlot) slot() (Int, error) {
	name, is := strings.CutPrefix(p.Title, "Slot ")
	slot, err := parseInt(name)
	switch {
	case !is || err != nil || !slot.Known:
		return Int{}, errNoPage
	case p.Status != "over":
		return Int{}, errRunning
	}
	return slot, checkSlot(slot)
}

// shownReader makes rows of one page.
type shownReader struct {
	at     int64
	slot   Int
	begins int64 // in microseconds since 1970
	page   *shownSlot
	from   Origin
	to     Sink
}

// moment is a time of the slot. What is too far away stays so, and is refused with its row.
func (r *shownReader) moment(ms *int64) Time {
	if ms == nil {
		return Time{}
	}
	return Time{r.begins + min(max(*ms, -farMicros), farMicros)*1000, true}
}

func (r *shownReader) bid(kind Text, shown *shownBid) error {
	if shown.Value == "" && kind == TopStream {
		return nil // no bid leads any more
	}
	b := &Bid{Source: "website", Kind: kind, Relay: Text(r.from.Relay), Slot: r.slot, Refusal: Text(shown.Refusal)}
	p := parsing{}
	p.wei("value_eth", shown.Value, &b.ValueWei)
	if shown.Builder != unproven {
		p.hex("builder", shown.Builder, b.Builder.V[:], &b.Builder.Known)
	}
	p.hex("proposer", r.page.Proposer, b.Proposer.V[:], &b.Proposer.Known)
	p.hex("block_hash", shown.BlockHash, b.BlockHash.V[:], &b.BlockHash.Known)
	p.int("transactions", string(shown.Transactions), &b.NumTx)
	p.int("blobs", string(shown.Blobs), &b.NumBlobs)
	if kind == Submission {
		b.ReceivedAt, b.ReceivedUnitUs = r.moment(shown.IntoSlotMs), Int{1000, true}
		b.Optimistic = Bool{shown.Became == "counts, on trust" || shown.Optimistic != "", true}
		b.Cancellable = Bool{shown.Cancels != "", shown.Became != ""}
	} else {
		b.ObservedAt = r.moment(shown.IntoSlotMs)
	}
	if p.err == nil {
		p.err = b.check(r.from.Network)
	}
	if p.err != nil {
		return r.bad(shown, p.err)
	}
	if err := r.to.Row(r.at, b); err != nil || kind != HeaderPoll {
		return err
	}
	return r.request(shown, b)
}

// request is that of a header that was served.
func (r *shownReader) request(shown *shownBid, served *Bid) error {
	q := &Request{
		Source: "website", Kind: HeaderRequest, Relay: served.Relay, Slot: served.Slot, ReceivedAt: served.ObservedAt,
		Outcome: Served, Builder: served.Builder, Proposer: served.Proposer, ValueWei: served.ValueWei,
	}
	p := parsing{}
	p.int("times", string(shown.Times), &q.Times)
	if p.err == nil {
		p.err = q.check(r.from.Network)
	}
	if p.err != nil {
		return r.bad(shown, p.err)
	}
	return r.to.Row(r.at, q)
}

func (r *shownReader) delivery() error {
	shown := r.page
	t := trace{
		Slot: number(strconv.FormatInt(r.slot.V, 10)), Relay: r.from.Relay, Value: number(shown.Value),
		ValuePaid: number(shown.Paid), BlockHash: shown.BlockHash, BuilderPubkey: shown.DeliveredBy,
		ProposerPubkey: shown.Proposer, ProposerFeeRecipient: shown.FeeRecipient, BlockNumber: shown.BlockNumber,
		GasUsed: shown.GasUsed, NumTx: shown.Transactions, NumBlobs: shown.Blobs,
	}
	d, err := t.delivery("website")
	d.DeliveredAt = r.moment(shown.SignedMs)
	if err == nil {
		err = d.check(r.from.Network)
	}
	if err != nil {
		return r.bad(struct {
			Receipt, Value string
		}{shown.BlockHash, shown.Value}, err)
	}
	return r.to.Row(r.at, d)
}

// bad hands over what could not become a row.
func (r *shownReader) bad(shown any, why error) error {
	text, err := json.Marshal(shown)
	if err != nil {
		text = []byte(r.page.Title)
	}
	return r.to.Bad(r.at, fmt.Sprintf("slot %d: %s", r.slot.V, text), why)
}
