package web

import (
	"fmt"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// Status is what the landing page says of the relay.
type Status struct {
	Network                   string
	Ready                     bool
	HeadSlot                  phase0.Slot
	Validators, Registrations int
	// PublicKey is the key that the relay signs bids with.
	PublicKey phase0.BLSPubKey
	At        time.Time
}

// Landing is the first page: status, shares and the last deliveries.
func (p *Policy) Landing(status Status, delivered []relay.DeliveredTrace) Page {
	page := Page{Title: "gavel relay", Path: "/"}
	if status.Network != "" {
		page.Title = "gavel relay · " + status.Network
	}
	state := "serves headers"
	if !status.Ready {
		state = "serves no headers now"
	}
	share := 0.0
	if status.Validators > 0 {
		share = 100 * float64(status.Registrations) / float64(status.Validators)
	}
	page.Fields = []Field{
		{"Status", text(state)},
		{"Head slot", slotCell(status.HeadSlot)},
		{"Validators registered", Cell{Text: fmt.Sprintf("%d of %d (%.1f %%)", status.Registrations, status.Validators,
			share), Value: int64(status.Registrations)}},
		{"Public key", text(hex(status.PublicKey[:]))},
	}
	page.Tables = []Table{p.shares(delivered), p.deliveries(delivered)}
	return page
}

// shares is who built the listed blocks.
func (p *Policy) shares(delivered []relay.DeliveredTrace) Table {
	table := Table{ID: "shares", Title: fmt.Sprintf("Builders of the last %d blocks", len(delivered)),
		Columns: []string{"Builder", "Blocks", "Share", "Value ETH"}}
	blocks, total := map[phase0.BLSPubKey]int64{}, map[phase0.BLSPubKey]*uint256.Int{}
	for _, d := range delivered {
		if total[d.Builder] == nil {
			total[d.Builder] = new(uint256.Int)
		}
		blocks[d.Builder]++
		total[d.Builder].Add(total[d.Builder], d.ValueWei)
	}
	for key := range blocks {
		percent := 100 * float64(blocks[key]) / float64(len(delivered))
		table.Rows = append(table.Rows, []Cell{builder(p.Who(key)), number(blocks[key]),
			{Text: fmt.Sprintf("%.1f %%", percent), Value: percent, order: fmt.Sprintf("%09.4f", percent)},
			ether(total[key])})
	}
	page := Page{Tables: []Table{table}}
	page.Sort("shares.builder") // the map has no order
	page.Sort("-shares.blocks")
	return page.Tables[0]
}

func (p *Policy) deliveries(delivered []relay.DeliveredTrace) Table {
	table := Table{ID: "delivered", Title: "Blocks delivered", Columns: []string{"Slot", "Time", "Block", "Value ETH",
		"Paid ETH", "Builder", "Transactions", "Blobs", "Proposer"}}
	for _, d := range delivered {
		begin := p.Spec.SlotStart(d.Slot).UTC()
		table.Rows = append(table.Rows, []Cell{slotCell(d.Slot),
			{Text: begin.Format(time.DateTime), Value: begin.Format(time.RFC3339), order: begin.Format(time.RFC3339)},
			number(int64(d.BlockNumber)), ether(d.ValueWei), ether(d.PaidWei), builder(p.Who(d.Builder)),
			number(int64(d.NumTx)), number(int64(d.NumBlobs)), proposer(d.Proposer)})
	}
	return table
}

func slotCell(slot phase0.Slot) Cell {
	cell := number(int64(slot))
	cell.Link = "/slot/" + strconv.FormatUint(uint64(slot), 10)
	return cell
}

func proposer(key phase0.BLSPubKey) Cell {
	cell := Cell{Text: short(key[:]), Value: hex(key[:]), order: hex(key[:])}
	cell.Link = "/proposer/" + hex(key[:])
	return cell
}

// BuilderPage is what a builder delivered and offered, the newest first.
func (p *Policy) BuilderPage(key phase0.BLSPubKey, delivered []relay.DeliveredTrace, received []relay.ReceivedTrace,
	at time.Time) Page {
	who := p.Who(key)
	page := Page{Title: "Builder " + who.Label, Path: "/builder/" + who.Key,
		Notes: []string{"Bids of auctions that still run are not listed."}}
	offered := Table{ID: "received", Title: "Bids that counted, the newest", Columns: receivedColumns}
	for _, r := range received {
		if p.Over(&Auction{Slot: r.Slot}, at) {
			offered.Rows = append(offered.Rows, p.receivedRow(r))
		}
	}
	page.Fields = []Field{{"Public key", text(who.Key)}, {"Blocks listed", number(int64(len(delivered)))},
		{"Value ETH", ether(sum(delivered))}}
	page.Tables = []Table{p.deliveries(delivered), offered}
	return page
}

var receivedColumns = []string{"Slot", "Into slot ms", "Builder", "Value ETH", "Transactions", "Blobs", "Optimistic",
	"Block hash"}

func (p *Policy) receivedRow(r relay.ReceivedTrace) []Cell {
	return []Cell{slotCell(r.Slot), number(r.ReceivedAt.Sub(p.Spec.SlotStart(r.Slot)).Milliseconds()),
		builder(p.Who(r.Builder)), ether(r.ValueWei), number(int64(r.NumTx)), number(int64(r.NumBlobs)),
		text(yes(r.Optimistic)), text(hex(r.BlockHash[:]))}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func sum(delivered []relay.DeliveredTrace) *uint256.Int {
	total := new(uint256.Int)
	for _, d := range delivered {
		total.Add(total, d.ValueWei)
	}
	return total
}

// ProposerPage is what a proposer got, and its registration if it has one.
func (p *Policy) ProposerPage(key phase0.BLSPubKey, registration *relay.SignedRegistration,
	delivered []relay.DeliveredTrace) Page {
	page := Page{Title: "Proposer " + short(key[:]), Path: "/proposer/" + hex(key[:])}
	page.Fields = []Field{{"Public key", text(hex(key[:]))}, {"Registered", text("no")}}
	if registration != nil {
		m := registration.Message
		page.Fields[1] = Field{"Registered", text("yes")}
		page.Fields = append(page.Fields,
			Field{"Registered at", text(m.Timestamp.UTC().Format(time.RFC3339))},
			Field{"Fee recipient", text(hex(m.FeeRecipient[:]))},
			Field{"Gas limit", number(int64(m.GasLimit))})
	}
	page.Fields = append(page.Fields, Field{"Blocks listed", number(int64(len(delivered)))},
		Field{"Value ETH", ether(sum(delivered))})
	page.Tables = []Table{p.deliveries(delivered)}
	return page
}

// SlotPage is one auction as it may be shown.
func (p *Policy) SlotPage(s Shown) Page {
	page := Page{Title: fmt.Sprintf("Slot %d", s.Slot), Path: fmt.Sprintf("/slot/%d", s.Slot)}
	if s.Over {
		page.Fields = append(page.Fields, Field{"Status", text("over")})
	} else {
		page.Fields = append(page.Fields, Field{"Status", text("the auction runs")})
		page.Notes = append(page.Notes, "While an auction runs builders are called A, B, C, and hashes are not shown.")
	}
	if s.Proposer != (phase0.BLSPubKey{}) {
		page.Fields = append(page.Fields, Field{"Proposer", proposer(s.Proposer)})
	}
	page.Fields = append(page.Fields, Field{"Bids", number(int64(len(s.Bids)))})
	if n := len(s.Leads); n > 0 && !s.Leads[n-1].None {
		page.Fields = append(page.Fields, Field{"Leader", builder(s.Leads[n-1].Builder)},
			Field{"Leading value ETH", ether(s.Leads[n-1].ValueWei)})
	}
	if s.Unlisted > 0 {
		page.Notes = append(page.Notes, fmt.Sprintf("%d more submissions and events are only counted.", s.Unlisted))
	}
	page.Fields = append(page.Fields, s.receipt()...)
	page.Tables = s.tables()
	return page
}

func (s *Shown) receipt() []Field {
	d := s.Delivered
	if d == nil {
		return []Field{{"Delivered", text("no")}}
	}
	return []Field{
		{"Delivered", text("yes")}, {"Delivered by", builder(d.Builder)}, {"Delivered value ETH", ether(d.ValueWei)},
		{"Paid ETH", ether(d.PaidWei)}, {"Signed block into slot ms", number(d.IntoSlotMs)},
		{"Block number", number(int64(d.BlockNumber))}, {"Block hash", text(d.BlockHash)},
		{"Block root", text(d.BlockRoot)}, {"Fee recipient", text(d.FeeRecipient)}, {"Gas used", number(int64(d.GasUsed))},
		{"Transactions", number(int64(d.NumTx))}, {"Blobs", number(int64(d.NumBlobs))},
	}
}

func (s *Shown) tables() []Table {
	bids := Table{ID: "bids", Title: "Submissions", Columns: []string{"Into slot ms", "Builder", "Value ETH", "Became",
		"Refusal", "Led", "Cancels", "Transactions", "Blobs", "Block hash"}}
	for _, b := range s.Bids {
		became := "kept, does not count"
		switch {
		case b.Refusal != "":
			became = "refused"
		case b.Eligible && b.Optimistic:
			became = "counts, on trust"
		case b.Eligible:
			became = "counts"
		}
		bids.Rows = append(bids.Rows, []Cell{number(b.IntoSlotMs), builder(b.Builder), ether(b.ValueWei), text(became),
			text(b.Refusal), text(yes(b.Led)), text(yes(b.Cancellable)), number(int64(b.NumTx)), number(int64(b.NumBlobs)),
			text(b.BlockHash)})
	}
	leads := Table{ID: "leads", Title: "Who led", Columns: []string{"Into slot ms", "Builder", "Value ETH", "Block hash"}}
	for _, l := range s.Leads {
		who := builder(l.Builder)
		if l.None {
			who = text("nobody: the bid was taken back")
		}
		leads.Rows = append(leads.Rows, []Cell{number(l.IntoSlotMs), who, ether(l.ValueWei), text(l.BlockHash)})
	}
	headers := Table{ID: "headers", Title: "Headers served", Columns: []string{"Into slot ms", "Builder", "Value ETH",
		"Times"}}
	for _, h := range s.Headers {
		headers.Rows = append(headers.Rows, []Cell{number(h.IntoSlotMs), builder(h.Builder), ether(h.ValueWei),
			number(int64(h.Times))})
	}
	return []Table{leads, headers, bids, counts("refusals", "Refused submissions, by refusal", s.RefusedBids),
		counts("payloads_refused", "Signed headers without a payload, by refusal", s.Refused)}
}

func counts(id, title string, list []Count) Table {
	table := Table{ID: id, Title: title, Columns: []string{"Refusal", "Times"}}
	for _, c := range list {
		table.Rows = append(table.Rows, []Cell{text(c.Name), number(int64(c.Times))})
	}
	return table
}

// ArchivedSlotPage is the page of a slot of which only the archive knows.
func (p *Policy) ArchivedSlotPage(slot phase0.Slot, delivered []relay.DeliveredTrace,
	received []relay.ReceivedTrace) Page {
	page := Page{Title: fmt.Sprintf("Slot %d", slot), Path: fmt.Sprintf("/slot/%d", slot), Fixed: true,
		Notes: []string{fmt.Sprintf("Refusals, headers and changes of the lead are remembered for %d slots; this is what "+
			"the archive has.", Slots)}}
	page.Fields = []Field{{"Status", text("over")}, {"Bids", number(int64(len(received)))},
		{"Delivered", text(map[bool]string{true: "yes", false: "no"}[len(delivered) > 0])}}
	bids := Table{ID: "bids", Title: "Bids that counted", Columns: receivedColumns}
	for _, r := range received {
		bids.Rows = append(bids.Rows, p.receivedRow(r))
	}
	page.Tables = []Table{p.deliveries(delivered), bids}
	return page
}
