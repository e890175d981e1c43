package backtest

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Variant is a what-if, ready to be played.
type Variant struct {
	scenarios.WhatIf
	house House
}

// NewVariant prepares a what-if.
func NewVariant(w scenarios.WhatIf) Variant {
	v := Variant{WhatIf: w, house: House{Floor: !w.NoFloor}}
	if w.Close != nil {
		v.house.Closes, v.house.CloseUs = true, w.Close.Microseconds()
	}
	return v
}

// change returns the offers of an auction as they would have been. Each step is a decision on one
// offer; numbers are given first, since builders number what they send before it travels.
func (v Variant) change(offers []offer) []offer {
	changed := make([]offer, len(offers))
	copy(changed, offers)
	if v.Sequence == "sent" {
		sortOffers(changed, received)
	}
	numbers := map[phase0.BLSPubKey]uint64{}
	values := make([]uint256.Int, len(offers))
	for i := range changed {
		o := &changed[i]
		v.number(o, numbers)
		v.execute(o)
		v.delay(o)
		v.allowCancellations(o)
		v.shade(o, &values[i])
	}
	sortOffers(changed, enters)
	return changed
}

// number leaves sequence numbers away, or counts each builder's bids.
func (v Variant) number(o *offer, numbers map[phase0.BLSPubKey]uint64) {
	switch v.Sequence {
	case "off":
		o.bid.Sequence = 0
	case "sent":
		numbers[o.bid.Builder]++
		o.bid.Sequence = numbers[o.bid.Builder]
	}
}

// execute says when a bid counts: when it is received, or when its block was executed.
func (v Variant) execute(o *offer) {
	switch v.Execution {
	case "optimistic":
		o.enterUs = o.receivedUs
	case "verified":
		o.enterUs = o.receivedUs + o.gasUsed*v.PicosPerGas/1_000_000
	}
}

// delay brings a bid later to its relay.
func (v Variant) delay(o *offer) {
	for _, d := range v.Latency {
		if d.Relay != "" && dataset.Text(d.Relay) != o.relay || len(d.Builders) > 0 && !isOneOf(o.bid.Builder, d.Builders) {
			continue
		}
		o.receivedUs += d.Add.Microseconds()
		o.enterUs += d.Add.Microseconds()
		o.bid.ReceivedAt = o.bid.ReceivedAt.Add(d.Add)
	}
}

// isOneOf says whether a key begins as one of some beginnings.
func isOneOf(key phase0.BLSPubKey, beginnings []string) bool {
	text := "0x" + hex.EncodeToString(key[:])
	for _, beginning := range beginnings {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

// allowCancellations says whether a bid may be replaced by a lower one, and by which: with freshest
// by the one that is received later, and with on by the one that enters later. Numbers count more.
func (v Variant) allowCancellations(o *offer) {
	switch v.Cancellations {
	case "off":
		o.bid.Cancellable, o.bid.Sequence = false, 0
	case "freshest":
		o.bid.Cancellable = true
	case "on":
		o.bid.Cancellable, o.bid.ReceivedAt = true, time.UnixMicro(o.enterUs)
	}
}

// shade lowers a bid. Into is where its new value is kept.
func (v Variant) shade(o *offer, into *uint256.Int) {
	if v.ShadeBasisPoints == 0 {
		return
	}
	into.Mul(o.bid.ValueWei, uint256.NewInt(10_000-v.ShadeBasisPoints))
	o.bid.ValueWei = into.Div(into, uint256.NewInt(10_000))
	o.empty = o.empty || into.IsZero()
}

// play holds an auction as it would have been. The proposer asks when the variant says, or when it
// did in the replay.
func (v Variant) play(l *lot, askedUs int64, askedBy string) (results []Result) {
	asks, askedBy := v.asks(askedUs, askedBy)
	offers := v.change(l.offers)
	p := play(offers, v.house, asks)
	for i, s := range p.asks {
		r := l.result(v.nameAt(i), offers, &p, s, askedBy)
		if v.SecondPrice {
			r.pay(r.SecondWei)
		}
		results = append(results, r)
	}
	return results
}

// asks returns when the proposer asks, and how that was found: when the variant says, or when it
// did in the replay.
func (v Variant) asks(askedUs int64, askedBy string) (us []int64, by string) {
	if len(v.Asks) == 0 {
		return []int64{askedUs}, askedBy
	}
	for _, at := range v.Asks {
		us = append(us, at.Microseconds())
	}
	return us, "what-if"
}

// nameAt is the name under which the moment at a place of asks is counted: each for itself.
func (v Variant) nameAt(place int) string {
	if len(v.Asks) < 2 {
		return v.Name
	}
	return v.Name + ",ask=" + v.Asks[place].String()
}
