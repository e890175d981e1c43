package backtest

import (
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Result is what came of one auction in one variant, for one moment at which its proposer asked.
type Result struct {
	Slot                          dataset.Int
	SlotStart                     dataset.Time
	Relay, Variant                dataset.Text
	AskedAt                       dataset.Time
	AskedBy                       dataset.Text
	ParentHash                    dataset.Hash
	Proposer                      dataset.Key
	Bids, LeftOut                 dataset.Int
	Entered, AtFloor              dataset.Int
	Stale, Late, Empty            dataset.Int
	Leads, Falls                  dataset.Int
	ServedBlock                   dataset.Hash
	ServedBuilder                 dataset.Key
	ServedWei, PaidWei, SecondWei dataset.Wei
	FloorWei                      dataset.Wei
	LedSince                      dataset.Time
	DeliveredBlock                dataset.Hash
	DeliveredBuilder              dataset.Key
	DeliveredWei                  dataset.Wei
	DifferenceWei                 dataset.Change
	Reason, Detail                dataset.Text
	Tops, TopsLed                 dataset.Int
	Headers, HeadersLed           dataset.Int
}

// AsArchived is the variant in which nothing is changed.
const AsArchived = "as-archived"

// Results is the table of results.
var Results = &dataset.Table[Result]{
	Name: "results",
	Doc: "What a replay gives: a row for each auction (a slot at a relay), variant and moment at which the proposer " +
		"asks. Null means that there was none.",
	At: func(_ dataset.Network, r *Result) int64 { return r.SlotStart.Micros },
	Columns: []dataset.Column[Result]{
		col("slot", "slot", "", func(r *Result) any { return &r.Slot }),
		col("slot_start", "UTC", "when that slot begins", func(r *Result) any { return &r.SlotStart }),
		col("relay", "", "the relay whose auction it is", func(r *Result) any { return &r.Relay }),
		col("variant", "", "`as-archived`, or the variant of the what-if", func(r *Result) any { return &r.Variant }),
		col("asked_at", "UTC, relay's clock", "when the proposer asks for the header", func(r *Result) any {
			return &r.AskedAt
		}),
		col("asked_by", "", "how `asked_at` was found: `delivered`, `otherwise`, `fixed` by a rule or `what-if`",
			func(r *Result) any { return &r.AskedBy }),
		col("parent_hash", "0x, 32 bytes", "", func(r *Result) any { return &r.ParentHash }),
		col("proposer_pubkey", "0x, 48 bytes", "", func(r *Result) any { return &r.Proposer }),
		col("bids", "bids", "rows of the archive that are bids", func(r *Result) any { return &r.Bids }),
		col("left_out", "bids", "bids that rules of inference leave out", func(r *Result) any { return &r.LeftOut }),
		col("entered", "bids", "bids that the auction took", func(r *Result) any { return &r.Entered }),
		col("at_floor", "bids", "bids at or below the floor", func(r *Result) any { return &r.AtFloor }),
		col("stale", "bids", "bids older than one of their builder that had entered", func(r *Result) any {
			return &r.Stale
		}),
		col("late", "bids", "bids after the close", func(r *Result) any { return &r.Late }),
		col("empty", "bids", "bids without value or transactions", func(r *Result) any { return &r.Empty }),
		col("leads", "changes", "how often the leader changed, in the whole slot", func(r *Result) any { return &r.Leads }),
		col("falls", "changes", "how often the leading value fell, in the whole slot", func(r *Result) any {
			return &r.Falls
		}),
		col("served_block_hash", "0x, 32 bytes", "the block that leads when the proposer asks",
			func(r *Result) any { return &r.ServedBlock }),
		col("served_builder_pubkey", "0x, 48 bytes", "", func(r *Result) any { return &r.ServedBuilder }),
		col("served_value_wei", "wei", "what it bids", func(r *Result) any { return &r.ServedWei }),
		col("paid_wei", "wei", "what the proposer gets: what is bid, unless a variant prices otherwise",
			func(r *Result) any { return &r.PaidWei }),
		col("second_value_wei", "wei", "the best bid of another builder at that moment",
			func(r *Result) any { return &r.SecondWei }),
		col("floor_wei", "wei", "the best final bid at that moment", func(r *Result) any { return &r.FloorWei }),
		col("led_since", "UTC, relay's clock", "when the served block began to lead", func(r *Result) any {
			return &r.LedSince
		}),
		col("delivered_block_hash", "0x, 32 bytes", "what the archive says this relay delivered",
			func(r *Result) any { return &r.DeliveredBlock }),
		col("delivered_builder_pubkey", "0x, 48 bytes", "", func(r *Result) any { return &r.DeliveredBuilder }),
		col("delivered_value_wei", "wei", "", func(r *Result) any { return &r.DeliveredWei }),
		col("difference_wei", "wei", "`paid_wei` less `delivered_value_wei`", func(r *Result) any {
			return &r.DifferenceWei
		}),
		col("reason", "", "why served and delivered differ, see below", func(r *Result) any { return &r.Reason }),
		col("detail", "", "the reason's figures", func(r *Result) any { return &r.Detail }),
		col("tops", "rows", "rows that the archive has of the relay's stream of leading bids",
			func(r *Result) any { return &r.Tops }),
		col("tops_led", "rows", "those of them that led in the replay, too", func(r *Result) any { return &r.TopsLed }),
		col("headers", "rows", "rows that the archive has of headers that the relay served",
			func(r *Result) any { return &r.Headers }),
		col("headers_led", "rows", "those of them that led in the replay, too", func(r *Result) any { return &r.HeadersLed }),
	},
}

func col(name, unit, doc string, cell func(*Result) any) dataset.Column[Result] {
	return dataset.Column[Result]{Name: name, Unit: unit, Doc: doc, Cell: cell}
}

func count(n int64) dataset.Int { return dataset.Int{V: n, Known: true} }

// wei makes a cell of an amount. Amounts come from cells, so they are below 2^128.
func wei(v *uint256.Int) dataset.Wei { return dataset.Wei{Hi: v[1], Lo: v[0], Known: true} }

func (l *lot) at(us int64) dataset.Time { return dataset.Time{Micros: l.startUs + us, Known: true} }

// result describes what a proposer saw.
func (l *lot) result(variant string, offers []offer, p *played, s seen, by string) Result {
	r := Result{
		Slot: count(l.slot), SlotStart: l.at(0), Relay: l.relay, Variant: dataset.Text(variant),
		AskedAt: l.at(s.atUs), AskedBy: dataset.Text(by), ParentHash: l.parent, Proposer: l.proposer,
		Bids: count(int64(l.rows)), LeftOut: count(int64(len(l.left))), Entered: count(p.counts[fateEntered]),
		AtFloor: count(p.counts[fateAtFloor]), Stale: count(p.counts[fateStale]), Late: count(p.counts[fateLate]),
		Empty: count(p.counts[fateEmpty]), Leads: count(int64(len(p.leads))), Falls: count(p.falls),
		FloorWei: wei(s.floorWei), Tops: count(int64(len(l.tops))), TopsLed: count(p.shown(l.tops)),
		Headers: count(int64(len(l.headers))), HeadersLed: count(p.shown(l.headers)),
	}
	if s.top != nil {
		r.show(s.top, l.at(s.sinceUs))
	}
	if s.second != nil {
		r.SecondWei = wei(s.second.ValueWei)
	}
	if d := l.delivered; d != nil {
		r.DeliveredBlock, r.DeliveredBuilder, r.DeliveredWei = d.BlockHash, d.Builder, d.ValueWei
	}
	reason, detail := l.explain(offers, p, s)
	r.Reason, r.Detail = dataset.Text(reason), dataset.Text(detail)
	r.pay(r.ServedWei)
	return r
}

func (r *Result) show(bid *relay.Bid, since dataset.Time) {
	r.ServedBlock = dataset.Hash{V: bid.BlockHash, Known: true}
	r.ServedBuilder = dataset.Key{V: bid.Builder, Known: true}
	r.ServedWei, r.LedSince = wei(bid.ValueWei), since
}

// pay sets what the proposer gets, which is nothing if no bid is served.
func (r *Result) pay(amount dataset.Wei) {
	r.PaidWei = amount
	r.PaidWei.Known = true
	if r.DeliveredWei.Known {
		r.DifferenceWei = dataset.Less(r.PaidWei, r.DeliveredWei)
	}
}

// shown counts the rows whose block led at some time.
func (p *played) shown(rows []*dataset.Bid) int64 {
	if len(rows) == 0 {
		return 0
	}
	led := map[[32]byte]bool{}
	for _, l := range p.leads {
		if l.bid != nil {
			led[l.bid.BlockHash] = true
		}
	}
	n := int64(0)
	for _, row := range rows {
		if led[row.BlockHash.V] {
			n++
		}
	}
	return n
}
