package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// Bounds of a live view, so that it stays some kilobytes however many bids there are.
const (
	maxCurves = 12
	maxPoints = 120
)

// Live is the auction that runs, as viewers of the first page follow it.
type Live struct {
	Slot uint64 `json:"slot"`
	Over bool   `json:"over"`
	// NowMs is when this was, against the slot's start.
	NowMs  int64   `json:"now_ms"`
	Curves []Curve `json:"curves"`
	Leader string  `json:"leader,omitempty"`
	// LeaderETH is empty if the value is held back.
	LeaderETH string `json:"leader_eth,omitempty"`
	// HeadersMs are the times at which headers were served.
	HeadersMs []int64 `json:"headers_ms,omitempty"`
	Bids      int     `json:"bids"`
	Refused   int     `json:"refused"`
	// Delivered is the builder of the delivered block.
	Delivered string `json:"delivered,omitempty"`
}

// Curve is what one builder offered, one point for each bid that counts: milliseconds into the slot
// and gwei.
type Curve struct {
	Builder string   `json:"builder"`
	Ms      []int64  `json:"ms"`
	Gwei    []uint64 `json:"gwei"`
}

// Current returns the slot whose auction viewers follow: the first that is not over, or else the
// newest. False if there is none.
func (a *Auctions) Current(p *Policy, at time.Time) (phase0.Slot, bool) {
	listed := a.Listed()
	for _, slot := range slices.Backward(listed) {
		if !p.Over(a.bySlot[slot], at) {
			return slot, true
		}
	}
	if len(listed) == 0 {
		return 0, false
	}
	return listed[0], true
}

// Live makes the view of an auction as it may be shown.
func (p *Policy) Live(s Shown, at time.Time) Live {
	live := Live{Slot: uint64(s.Slot), Over: s.Over, NowMs: at.Sub(p.Spec.SlotStart(s.Slot)).Milliseconds(),
		Bids:   len(s.Bids),
		Curves: []Curve{}}
	byBuilder, highest := map[string]*Curve{}, map[string]uint64{}
	for _, bid := range s.Bids {
		if bid.Refusal != "" {
			live.Refused++
		}
		if !bid.Eligible || bid.ValueWei == nil {
			continue
		}
		label := bid.Builder.Label
		if byBuilder[label] == nil {
			byBuilder[label] = &Curve{Builder: label}
		}
		value := gwei(bid.ValueWei)
		byBuilder[label].Ms, byBuilder[label].Gwei = append(byBuilder[label].Ms, bid.IntoSlotMs),
			append(byBuilder[label].Gwei, value)
		highest[label] = max(highest[label], value)
	}
	for _, curve := range byBuilder {
		curve.thin()
		live.Curves = append(live.Curves, *curve)
	}
	slices.SortFunc(live.Curves, func(a, b Curve) int {
		return cmp.Or(cmp.Compare(highest[b.Builder], highest[a.Builder]), cmp.Compare(a.Builder, b.Builder))
	})
	live.Curves = live.Curves[:min(len(live.Curves), maxCurves)]
	if n := len(s.Leads); n > 0 && !s.Leads[n-1].None {
		live.Leader = s.Leads[n-1].Builder.Label
		if value := s.Leads[n-1].ValueWei; value != nil {
			live.LeaderETH = Ether(value)
		}
	}
	for _, header := range s.Headers[:min(len(s.Headers), maxCurves)] {
		live.HeadersMs = append(live.HeadersMs, header.IntoSlotMs)
	}
	if s.Delivered != nil {
		live.Delivered = s.Delivered.Builder.Label
	}
	return live
}

// thin leaves out points until there are few enough; the last one stays.
func (c *Curve) thin() {
	for len(c.Ms) > maxPoints {
		var ms []int64
		var values []uint64
		for i := len(c.Ms) - 1; i >= 0; i -= 2 {
			ms, values = append(ms, c.Ms[i]), append(values, c.Gwei[i])
		}
		slices.Reverse(ms)
		slices.Reverse(values)
		c.Ms, c.Gwei = ms, values
	}
}

// gwei is an amount for a curve; one that no chain has is the greatest number.
func gwei(valueWei *uint256.Int) uint64 {
	value := new(uint256.Int).Div(valueWei, uint256.NewInt(1e9))
	const greatest = 1 << 53 // that JavaScript has exactly
	if !value.IsUint64() {
		return greatest
	}
	return min(value.Uint64(), greatest)
}
