package figures

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// curveBuilders is how many builders have a line of their own in a bid curve.
const curveBuilders = 8

// keyText is the name of a builder.
func keyText(key [48]byte) string { return "0x" + hex.EncodeToString(key[:]) }

// shortKey is its beginning, as labels have it.
func shortKey(key [48]byte) string { return keyText(key)[:10] + "…" }

// curveFigure: the bids of one auction.
func curveFigure(c *backtest.Course) Figure {
	f := Figure{
		ID: "bid-curve", Title: "Bid curve",
		Doc: "All bids of one auction when the relay received them, with a line for each of the builders that bid most. " +
			"The leading bid, the moment at which the proposer asked as it is inferred, and what the archive " +
			"says was delivered.",
		X: "ms since the slot began", Y: "ETH",
		Header: []string{"series", "ms", "value_wei", "builder_pubkey", "block_hash"},
	}
	if c == nil || len(c.Bids) == 0 {
		f.Missing = noAuctions
		return f
	}
	f.Title = fmt.Sprintf("Bid curve of slot %d at %s", c.Slot, cmp.Or(string(c.Relay), "a relay without a name"))
	lines := map[[48]byte]int{}
	for _, key := range busiest(c) {
		lines[key] = len(f.Series)
		f.Series = append(f.Series, Series{Name: shortKey(key), Form: Line})
	}
	others := Series{Name: "other builders", Form: Points}
	bids := slices.Clone(c.Bids)
	slices.SortStableFunc(bids, func(a, b backtest.CourseBid) int { return cmp.Compare(a.ReceivedUs, b.ReceivedUs) })
	for _, b := range bids {
		point := Point{X: float64(b.ReceivedUs) / 1000, Y: etherOf(b.ValueWei)}
		if at, has := lines[b.Builder]; has {
			f.Series[at].Points = append(f.Series[at].Points, point)
		} else {
			others.Points = append(others.Points, point)
		}
		f.Rows = append(f.Rows, curveRow("bid", b.ReceivedUs, b.ValueWei, b.Builder, b.Block))
	}
	if len(others.Points) > 0 {
		f.Series = append(f.Series, others)
	}
	f.lead(c)
	return f
}

// lead adds the leading bid, and what was served and delivered.
func (f *Figure) lead(c *backtest.Course) {
	top := Series{Name: "leading bid", Form: Step}
	served := -1
	for i, l := range c.Leads {
		value := l.ValueWei
		if value == nil {
			value = new(uint256.Int)
		}
		top.Points = append(top.Points, Point{X: float64(l.AtUs) / 1000, Y: etherOf(value)})
		f.Rows = append(f.Rows, curveRow("leads", l.AtUs, value, l.Builder, l.Block))
		if l.AtUs <= c.AskedUs {
			served = i
		}
	}
	f.Series = append(f.Series, top)
	askedMs := float64(c.AskedUs) / 1000
	if served >= 0 && c.Leads[served].ValueWei != nil {
		l := c.Leads[served]
		f.Series = append(f.Series, Series{Name: "served", Form: Marker, Points: []Point{{X: askedMs,
			Y: etherOf(l.ValueWei)}}})
		f.Rows = append(f.Rows, curveRow("served", c.AskedUs, l.ValueWei, l.Builder, l.Block))
	}
	if d := c.Delivered; d != nil {
		value := &uint256.Int{d.ValueWei.Lo, d.ValueWei.Hi}
		f.Series = append(f.Series, Series{Name: "delivered", Form: Marker, Points: []Point{{X: askedMs, Y: etherOf(value)}}})
		f.Rows = append(f.Rows, curveRow("delivered", c.AskedUs, value, d.Builder.V, d.BlockHash.V))
	}
}

func curveRow(what string, us int64, value *uint256.Int, builder [48]byte, block [32]byte) []string {
	return []string{what, msText(us), value.Dec(), keyText(builder), "0x" + hex.EncodeToString(block[:])}
}

// busiest are the builders with the most bids, the busiest first.
func busiest(c *backtest.Course) [][48]byte {
	count := map[[48]byte]int{}
	var keys [][48]byte
	for _, b := range c.Bids {
		if count[b.Builder] == 0 {
			keys = append(keys, b.Builder)
		}
		count[b.Builder]++
	}
	slices.SortFunc(keys, func(a, b [48]byte) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(string(a[:]), string(b[:])))
	})
	return keys[:min(len(keys), curveBuilders)]
}
