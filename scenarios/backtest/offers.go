package backtest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Slot is what a data set has of a slot.
type Slot struct {
	Bids       []*dataset.Bid
	Deliveries []*dataset.Delivery
}

// lot is one auction: what a data set has of a slot at one relay.
type lot struct {
	slot, startUs int64
	relay         dataset.Text
	parent        dataset.Hash
	proposer      dataset.Key
	rows          int
	// offers are the bids that enter, in the order in which they do. Left are those that do not.
	offers []offer
	left   []leftOut
	// tops and headers are what the archive has of what the relay showed.
	tops, headers []*dataset.Bid
	// delivered is what the relay delivered, nil if the archive does not say. Elsewhere: another relay
	// delivered a payload.
	delivered *dataset.Delivery
	elsewhere bool
	inferred  map[string]int64 // how many bids each rule decided for
}

// offer is a bid that enters an auction.
type offer struct {
	bid relay.Bid
	// enterUs is when it begins to count, and receivedUs when the relay received it, in microseconds
	// since the start of the slot.
	enterUs, receivedUs int64
	gasUsed             int64
	optimistic          dataset.Bool
	flagless            bool // the archive does not say whether it is cancellable
	empty               bool // it has no transactions or no value, and so no effect (decision 3)
	relay               dataset.Text
}

// leftOut is a bid that does not enter.
type leftOut struct {
	hash  phase0.Hash32
	value *uint256.Int
	why   string
}

// Why a bid is left out before the auction begins.
const (
	leftRefused = "refused"
	leftNoTime  = "no-time"
	leftParent  = "other-parent"
	leftNoKey   = "no-builder"
)

// lots groups the rows of a slot by relay, and infers what they do not say.
func lots(s Slot, how Inference) []*lot {
	var all []*lot
	byRelay := map[dataset.Text]*lot{}
	of := func(name dataset.Text, slot, startUs int64) *lot {
		l := byRelay[name]
		if l == nil {
			l = &lot{slot: slot, startUs: startUs, relay: name, inferred: map[string]int64{}}
			byRelay[name], all = l, append(all, l)
		}
		return l
	}
	rows := map[*lot][]*dataset.Bid{}
	for _, row := range s.Bids {
		l := of(row.Relay, row.Slot.V, row.SlotStart.Micros)
		switch row.Kind {
		case dataset.HeaderPoll:
			l.headers = append(l.headers, row)
			continue
		case dataset.TopStream:
			l.tops = append(l.tops, row)
			if !how.is(ruleBids, "all") {
				continue
			}
		}
		rows[l] = append(rows[l], row)
	}
	for _, d := range s.Deliveries {
		l := of(d.Relay, d.Slot.V, d.SlotStart.Micros)
		if l.delivered == nil {
			l.delivered = d
		}
	}
	for _, l := range all {
		l.elsewhere = l.delivered == nil && len(s.Deliveries) > 0
		l.infer(rows[l], how)
	}
	slices.SortFunc(all, func(a, b *lot) int { return cmp.Compare(a.relay, b.relay) })
	return all
}

// infer makes offers of rows.
func (l *lot) infer(rows []*dataset.Bid, how Inference) {
	l.rows = len(rows)
	if how.is(ruleDuplicates, "join") {
		rows = l.join(rows)
	}
	l.chooseParent(rows, how)
	values := make([]uint256.Int, len(rows))
	l.offers = make([]offer, 0, len(rows))
	for i, row := range rows {
		values[i] = uint256.Int{row.ValueWei.Lo, row.ValueWei.Hi}
		if why := l.leaves(row, how); why != "" {
			l.left = append(l.left, leftOut{row.BlockHash.V, &values[i], why})
			continue
		}
		l.offers = append(l.offers, l.offer(row, &values[i], how))
	}
	sortOffers(l.offers, received)
	l.inferCancellations(how)
	sortOffers(l.offers, enters)
}

// leaves says why a row does not enter, empty if it does.
func (l *lot) leaves(row *dataset.Bid, how Inference) string {
	switch {
	case !row.Builder.Known || !row.BlockHash.Known:
		return leftNoKey
	case row.ParentHash != l.parent || row.Proposer.Known && l.proposer.Known && row.Proposer != l.proposer:
		return leftParent
	case row.Refusal != "" || row.Verified.Known && !row.Verified.V && row.Optimistic.Known && !row.Optimistic.V:
		l.inferred[ruleRefused]++
		if how.is(ruleRefused, "leave-out") {
			return leftRefused
		}
	}
	if row.ReceivedAt.Known {
		return ""
	}
	l.inferred[ruleClockless]++
	if how.is(ruleClockless, "leave-out") || !row.ObservedAt.Known {
		return leftNoTime
	}
	return ""
}

func (l *lot) offer(row *dataset.Bid, valueWei *uint256.Int, how Inference) offer {
	came := row.ReceivedAt
	if !came.Known {
		came = row.ObservedAt
	}
	o := offer{
		bid: relay.Bid{
			Builder: row.Builder.V, BlockHash: row.BlockHash.V, ValueWei: valueWei, ReceivedAt: time.UnixMicro(came.Micros),
			Cancellable: row.Cancellable.V,
		},
		receivedUs: came.Micros - l.startUs, gasUsed: row.GasUsed.V, optimistic: row.Optimistic, relay: l.relay,
		flagless: !row.Cancellable.Known,
		empty:    valueWei.IsZero() || row.NumTx.Known && row.NumTx.V == 0,
	}
	o.enterUs = o.receivedUs
	if how.is(ruleArrival, "eligible") && row.EligibleAt.Known && row.EligibleAt.Micros > came.Micros {
		o.enterUs = row.EligibleAt.Micros - l.startUs
	}
	if row.Sequence.Known && how.is(ruleSequence, "archive") {
		o.bid.Sequence = uint64(row.Sequence.V)
	}
	return o
}

// join makes one row of rows of different archives that tell of the same bid. Two rows of the same
// archive are two submissions.
func (l *lot) join(rows []*dataset.Bid) []*dataset.Bid {
	several := slices.ContainsFunc(rows, func(r *dataset.Bid) bool {
		return r.Source != rows[0].Source || r.Kind != rows[0].Kind
	})
	if !several {
		return rows
	}
	type id struct {
		builder dataset.Key
		block   dataset.Hash
		value   dataset.Wei
	}
	// What a relay lists says when it received the bid, and the stream only when it began to lead.
	slices.SortStableFunc(rows, func(a, b *dataset.Bid) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Source, b.Source))
	})
	first := map[id]int{}
	kept := make([]*dataset.Bid, 0, len(rows))
	for _, row := range rows {
		id := id{row.Builder, row.BlockHash, row.ValueWei}
		at, known := first[id]
		if !known || kept[at].Source == row.Source && kept[at].Kind == row.Kind {
			if !known {
				first[id] = len(kept)
			}
			kept = append(kept, row)
			continue
		}
		l.inferred[ruleDuplicates]++
		both := *kept[at]
		complete(&both, row)
		kept[at] = &both
	}
	return kept
}

// chooseParent chooses the auction of the slot that is replayed.
func (l *lot) chooseParent(rows []*dataset.Bid, how Inference) {
	type key struct {
		parent   dataset.Hash
		proposer dataset.Key
	}
	count := map[key]int{}
	var best key
	for _, row := range rows {
		k := key{row.ParentHash, row.Proposer}
		count[k]++
		more := cmp.Or(cmp.Compare(count[k], count[best]), bytes.Compare(best.parent.V[:], k.parent.V[:]))
		if more > 0 {
			best = k
		}
	}
	l.parent, l.proposer = best.parent, best.proposer
	if len(count) < 2 {
		return
	}
	l.inferred[ruleParent]++
	if l.delivered == nil || !how.is(ruleParent, "delivered") {
		return
	}
	for _, row := range rows {
		if row.BlockHash == l.delivered.BlockHash {
			l.parent, l.proposer = row.ParentHash, row.Proposer
			return
		}
	}
}

// complete puts what another archive knows of the same bid where this row says nothing.
func complete(into, from *dataset.Bid) {
	for _, c := range dataset.Bids.Columns {
		dataset.Complete(c.Cell(into), c.Cell(from))
	}
}

// inferCancellations decides which bids of builders are cancellable where the archive does not say.
// Offers are in the order in which the relay received them.
func (l *lot) inferCancellations(how Inference) {
	type habit struct {
		last  *uint256.Int
		falls bool
	}
	habits := map[phase0.BLSPubKey]*habit{}
	of := make([]*habit, len(l.offers))
	for i := range l.offers {
		bid := &l.offers[i].bid
		h := habits[bid.Builder]
		if h == nil {
			h = &habit{last: bid.ValueWei}
			habits[bid.Builder] = h
		}
		h.falls = h.falls || bid.ValueWei.Lt(h.last)
		h.last, of[i] = bid.ValueWei, h
	}
	falling, always := how.is(ruleCancellations, "falling"), how.is(ruleCancellations, "always")
	for i := range l.offers {
		if o := &l.offers[i]; o.flagless {
			l.inferred[ruleCancellations]++
			o.bid.Cancellable = always || falling && of[i].falls
		}
	}
}

// sortOffers brings offers into the order of a time; of equal times the one before stays before.
// Archives are sorted already, mostly.
func sortOffers(offers []offer, atUs func(*offer) int64) {
	compare := func(a, b offer) int { return cmp.Compare(atUs(&a), atUs(&b)) }
	for i := 1; i < len(offers); i++ {
		if atUs(&offers[i]) < atUs(&offers[i-1]) {
			slices.SortStableFunc(offers, compare)
			return
		}
	}
}

func received(o *offer) int64 { return o.receivedUs }

func enters(o *offer) int64 { return o.enterUs }
