package figures

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

func weiOf(w dataset.Wei) *big.Int { return amount{w.Lo, w.Hi}.big() }

// maxSpreadMs is the largest spread that is counted for itself.
const maxSpreadMs = 12_000

// spreads counts blocks that a builder sent to several relays, by the milliseconds between the
// first and the last one that received it.
type spreads struct{ blocks [maxSpreadMs + 1]int64 }

// add looks at the auctions of one slot.
func (s *spreads) add(courses []backtest.Course) {
	type block struct {
		builder [48]byte
		hash    [32]byte
	}
	// at is the last course that had it. At one relay the first submission of a block counts.
	type seen struct {
		firstUs, lastUs int64
		relays, at      int
	}
	all := map[block]seen{}
	for i := range courses {
		for _, b := range courses[i].Bids {
			key := block{b.Builder, b.Block}
			was, known := all[key]
			switch {
			case !known:
				all[key] = seen{b.ReceivedUs, b.ReceivedUs, 1, i}
			case was.at != i:
				all[key] = seen{min(was.firstUs, b.ReceivedUs), max(was.lastUs, b.ReceivedUs), was.relays + 1, i}
			}
		}
	}
	for _, one := range all {
		if one.relays > 1 {
			s.blocks[min((one.lastUs-one.firstUs)/1000, maxSpreadMs)]++
		}
	}
}

func (s *spreads) merge(other *spreads) {
	for i, n := range other.blocks {
		s.blocks[i] += n
	}
}

func (s *spreads) figure() Figure {
	f := Figure{
		ID: "spread-between-relays", Title: "Spread between relays",
		Doc: "The share of blocks that a builder sent to several relays whose last relay received it within so many " +
			"milliseconds (whole ones) after the first.",
		X: "ms from the first relay to the last", Y: "share of blocks", Header: []string{"ms", "blocks", "of"},
	}
	of := int64(0)
	for _, n := range s.blocks {
		of += n
	}
	if of == 0 {
		f.Missing = "No block is in the bids of more than one relay."
		return f
	}
	line, sum := Series{Name: "blocks at several relays", Form: Step}, int64(0)
	for ms, n := range s.blocks {
		if n == 0 {
			continue
		}
		sum += n
		line.Points = append(line.Points, Point{X: float64(ms), Y: share(sum, of)})
		f.Rows = append(f.Rows, []string{decimal(int64(ms)), decimal(sum), decimal(of)})
	}
	f.Series = []Series{line}
	return f
}

// payment is what a delivered payload promised and paid.
type payment struct {
	slot           int64
	relay          dataset.Text
	promised, paid *big.Int
}

// payments are those of which an archive says both.
type payments struct {
	all        []payment
	deliveries int64
}

func (p *payments) add(c *backtest.Course) {
	d := c.Delivered
	if d == nil {
		return
	}
	p.deliveries++
	if d.PaidWei.Known {
		p.all = append(p.all, payment{c.Slot, c.Relay, weiOf(d.ValueWei), weiOf(d.PaidWei)})
	}
}

func (p *payments) figure() Figure {
	f := Figure{
		ID: "promised-and-paid", Title: "Promised and paid",
		Doc: "What delivered payloads paid, against what their bids promised. On the line both are the same; below it the " +
			"proposer got less.",
		X: "promised, ETH", Y: "paid, ETH", Header: []string{"slot", "relay", "promised_wei", "paid_wei", "difference_wei"},
	}
	if len(p.all) == 0 {
		f.Missing = "No archive in the data set says what blocks paid: `paid_wei` is null in all " + decimal(p.deliveries) +
			" delivered payloads."
		return f
	}
	dots, same := Series{Name: "delivered payloads", Form: Points}, Series{Name: "paid as promised", Form: Line}
	highest := 0.0
	for _, one := range p.all {
		dots.Points = append(dots.Points, Point{X: ether(one.promised), Y: ether(one.paid)})
		highest = max(highest, ether(one.promised))
		f.Rows = append(f.Rows, []string{
			decimal(one.slot), string(one.relay), one.promised.String(), one.paid.String(),
			new(big.Int).Sub(one.paid, one.promised).String(),
		})
	}
	same.Points = []Point{{}, {X: highest, Y: highest}}
	f.Series = []Series{same, dots}
	return f
}

// hourUs is an hour in microseconds.
const hourUs = 3_600_000_000

// concentration counts by hour who won slots.
type concentration struct{ hours map[int64]map[[48]byte]*won }

type won struct {
	slots int64
	wei   *big.Int
}

func newConcentration() *concentration {
	return &concentration{hours: map[int64]map[[48]byte]*won{}}
}

// add counts the winner of a slot: the builder of the payload that the archive says was
// delivered, or, if none was, of the highest bid that a relay serves in the replay.
func (c *concentration) add(courses []backtest.Course) {
	for i := range courses {
		if d := courses[i].Delivered; d != nil && d.Builder.Known {
			c.count(courses[i].StartUs/hourUs, d.Builder.V, 1, weiOf(d.ValueWei))
			return
		}
	}
	var best *backtest.CourseLead
	for i := range courses {
		if lead := leading(&courses[i]); lead != nil && (best == nil || lead.ValueWei.Gt(best.ValueWei)) {
			best = lead
		}
	}
	if best != nil {
		c.count(courses[0].StartUs/hourUs, best.Builder, 1, best.ValueWei.ToBig())
	}
}

func (c *concentration) count(hour int64, winner [48]byte, slots int64, wei *big.Int) {
	if c.hours[hour] == nil {
		c.hours[hour] = map[[48]byte]*won{}
	}
	one := c.hours[hour][winner]
	if one == nil {
		one = &won{wei: new(big.Int)}
		c.hours[hour][winner] = one
	}
	one.slots += slots
	one.wei.Add(one.wei, wei)
}

func (c *concentration) merge(other *concentration) {
	for hour, all := range other.hours {
		for key, one := range all {
			c.count(hour, key, one.slots, one.wei)
		}
	}
}

// hhi is the sum of the squares of shares in percent: 10,000 if one has all.
func hhi(parts []*big.Int) int64 {
	squares, total := new(big.Int), new(big.Int)
	for _, part := range parts {
		squares.Add(squares, new(big.Int).Mul(part, part))
		total.Add(total, part)
	}
	if total.Sign() == 0 {
		return 0
	}
	return squares.Quo(squares.Mul(squares, big.NewInt(10_000)), total.Mul(total, total)).Int64()
}

func (c *concentration) figure() Figure {
	f := Figure{
		ID: "concentration", Title: "Concentration of builders",
		Doc: "The Herfindahl-Hirschman index of winning builders in each hour: the sum of the squares of their shares in " +
			"percent, by slots and by value. 10,000 means that one builder has all. The winner of a slot is the builder of " +
			"the delivered payload, and if the archive has none, of the highest bid that is served in the replay. Keys are " +
			"builders: who bids with several keys counts as several.",
		X: "hour of the data set", Y: "index", Header: []string{"hour_utc", "slots", "builders", "hhi_slots", "hhi_value"},
	}
	if len(c.hours) == 0 {
		f.Missing = "No slot has a winner."
		return f
	}
	bySlots, byValue := Series{Name: "by slots", Form: Marker}, Series{Name: "by value", Form: Marker}
	var hours []int64
	for hour := range c.hours {
		hours = append(hours, hour)
	}
	slices.SortFunc(hours, cmp.Compare[int64])
	for _, hour := range hours {
		var slots, values []*big.Int
		total := int64(0)
		for _, one := range c.hours[hour] {
			slots, values = append(slots, big.NewInt(one.slots)), append(values, one.wei)
			total += one.slots
		}
		s, v := hhi(slots), hhi(values)
		x := float64(hour - hours[0])
		bySlots.Points = append(bySlots.Points, Point{X: x, Y: float64(s)})
		byValue.Points = append(byValue.Points, Point{X: x, Y: float64(v)})
		f.Rows = append(f.Rows, []string{hourText(hour), decimal(total), decimal(int64(len(slots))), decimal(s), decimal(v)})
	}
	f.Series = []Series{bySlots, byValue}
	return f
}

// hourText is an hour since 1970, in UTC.
func hourText(hour int64) string {
	return time.UnixMicro(hour * hourUs).UTC().Format("2006-01-02T15:00Z")
}
