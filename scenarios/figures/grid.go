package figures

import (
	"math/big"
	"slices"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// The moments of a slot at which auctions are looked at: from -4 s to 4 s, each 100 ms.
const (
	gridFromUs = -4_000_000
	gridStepUs = 100_000
	gridLen    = 81
)

func gridUs(i int) int64 { return gridFromUs + int64(i)*gridStepUs }

// bin is the step of the grid that a moment is in, -1 if it is in none.
func bin(us int64) int {
	if us < gridFromUs || us >= gridUs(gridLen-1) {
		return -1
	}
	return int((us - gridFromUs) / gridStepUs)
}

// amount is a value below 2^128, as the values of data sets are.
type amount [2]uint64

func amountOf(v *uint256.Int) amount {
	if v == nil {
		return amount{}
	}
	return amount{v[0], v[1]}
}

func (a amount) uint256() *uint256.Int { return &uint256.Int{a[0], a[1]} }

func (a amount) big() *big.Int { return a.uint256().ToBig() }

func compareAmounts(a, b amount) int { return a.uint256().Cmp(b.uint256()) }

// clock looks at auctions on the grid.
type clock struct {
	auctions int64
	// tops has for each moment the leading values of all auctions.
	tops [gridLen][]amount
	// rises has for each slot how much its auctions' leading values rise within each step.
	rises []slotRises
	// turns counts changes of the leader, falls those to a lower value, and lower bids of a
	// builder that are below its bid before; lost is by how much the leading value fell.
	turns, falls, lower [gridLen]int64
	lost                [gridLen]*big.Int
}

// slotRises are the rises of the auctions of a slot.
type slotRises struct {
	auctions int64
	wei      [gridLen - 1]*big.Int
}

func newClock() *clock {
	c := &clock{}
	for i := range c.lost {
		c.lost[i] = new(big.Int)
	}
	return c
}

// add looks at the auctions of one slot.
func (c *clock) add(courses []backtest.Course) {
	rises := slotRises{}
	for i := range rises.wei {
		rises.wei[i] = new(big.Int)
	}
	for i := range courses {
		if len(courses[i].Bids) == 0 {
			continue
		}
		rises.auctions++
		c.look(&courses[i], &rises)
		c.count(&courses[i])
	}
	if rises.auctions > 0 {
		c.auctions += rises.auctions
		c.rises = append(c.rises, rises)
	}
}

func (c *clock) look(course *backtest.Course, rises *slotRises) {
	var leads amount
	var before *big.Int
	at := 0
	for i := range gridLen {
		for ; at < len(course.Leads) && course.Leads[at].AtUs <= gridUs(i); at++ {
			leads = amountOf(course.Leads[at].ValueWei)
		}
		c.tops[i] = append(c.tops[i], leads)
		now := leads.big()
		if i > 0 {
			rises.wei[i-1].Add(rises.wei[i-1], new(big.Int).Sub(now, before))
		}
		before = now
	}
}

func (c *clock) count(course *backtest.Course) {
	var led amount
	for _, lead := range course.Leads {
		value := amountOf(lead.ValueWei)
		if i := bin(lead.AtUs); i >= 0 {
			c.turns[i]++
			if compareAmounts(value, led) < 0 {
				c.falls[i]++
				c.lost[i].Add(c.lost[i], new(big.Int).Sub(led.big(), value.big()))
			}
		}
		led = value
	}
	last := map[[48]byte]*uint256.Int{}
	bids := slices.Clone(course.Bids)
	slices.SortStableFunc(bids, func(a, b backtest.CourseBid) int { return int(sign(a.ReceivedUs - b.ReceivedUs)) })
	for _, b := range bids {
		if was := last[b.Builder]; was != nil && b.ValueWei.Lt(was) {
			if i := bin(b.ReceivedUs); i >= 0 {
				c.lower[i]++
			}
		}
		last[b.Builder] = b.ValueWei
	}
}

func sign(n int64) int64 {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func (c *clock) merge(other *clock) {
	c.auctions += other.auctions
	c.rises = append(c.rises, other.rises...)
	for i := range gridLen {
		c.tops[i] = append(c.tops[i], other.tops[i]...)
		c.turns[i] += other.turns[i]
		c.falls[i] += other.falls[i]
		c.lower[i] += other.lower[i]
		c.lost[i].Add(c.lost[i], other.lost[i])
	}
}

const noAuctions = "No auction of the data set has bids."

// topFigure: the leading value against time.
func (c *clock) topFigure() Figure {
	f := Figure{
		ID: "top-value", Title: "Leading value against time",
		Doc: "The leading value of all auctions at each moment: the middle one, and as bounds the quarter and " +
			"three-quarter " +
			"ones. 0 before the first bid. Of an even number of values the lower one of the middle counts.",
		X: "ms since the slot began", Y: "ETH", Header: []string{"ms", "quarter_wei", "median_wei", "three_quarters_wei",
			"auctions"},
	}
	if c.auctions == 0 {
		f.Missing = noAuctions
		return f
	}
	s := Series{Name: "median, and the middle half", Form: Line}
	for i := range gridLen {
		values := slices.Clone(c.tops[i])
		slices.SortFunc(values, compareAmounts)
		at := func(quarters int) *uint256.Int { return values[(len(values)-1)*quarters/4].uint256() }
		s.Points = append(s.Points, Point{
			X: float64(gridUs(i)) / 1000, Y: etherOf(at(2)), Low: etherOf(at(1)), High: etherOf(at(3)), Bounded: true,
		})
		f.Rows = append(f.Rows, []string{
			msText(gridUs(i)), at(1).Dec(), at(2).Dec(), at(3).Dec(), decimal(int64(len(values))),
		})
	}
	f.Series = []Series{s}
	return f
}

// riseFigure: the value of 100 ms.
func (c *clock) riseFigure() Figure {
	f := Figure{
		ID: "value-of-100-ms", Title: "What 100 ms are worth",
		Doc: "By how much the leading value rises within 100 ms: the mean of all auctions, with bounds of 95 % " +
			byBootstrap,
		X: "ms since the slot began, beginning of the 100 ms", Y: "ETH in 100 ms",
		Header: []string{"from_ms", "mean_wei", "low_eth", "high_eth", "auctions"},
	}
	if c.auctions == 0 {
		f.Missing = noAuctions
		return f
	}
	s := Series{Name: "mean rise", Form: Line}
	for i := range gridLen - 1 {
		total := new(big.Int)
		of := make([]slotSum, len(c.rises))
		for n := range c.rises {
			total.Add(total, c.rises[n].wei[i])
			of[n] = slotSum{ether(c.rises[n].wei[i]), c.rises[n].auctions}
		}
		middle := mean(total, c.auctions)
		low, high := bootstrap(of)
		s.Points = append(s.Points, Point{
			X: float64(gridUs(i)) / 1000, Y: ether(middle), Low: low, High: high, Bounded: true,
		})
		f.Rows = append(f.Rows, []string{msText(gridUs(i)), middle.String(), bound(low), bound(high), decimal(c.auctions)})
	}
	f.Series = []Series{s}
	return f
}

// turnFigure: how often the lead changes hands.
func (c *clock) turnFigure() Figure {
	f := Figure{
		ID: "turnover", Title: "Turnover of the lead",
		Doc: "How often another bid begins to lead, in each 100 ms: the mean of all auctions.",
		X:   "ms since the slot began, beginning of the 100 ms", Y: "changes per auction",
		Header: []string{"from_ms", "changes", "auctions", "changes_per_auction"},
	}
	if c.auctions == 0 {
		f.Missing = noAuctions
		return f
	}
	s := Series{Name: "changes of the leading bid", Form: Step}
	for i := range gridLen - 1 {
		s.Points = append(s.Points, Point{X: float64(gridUs(i)) / 1000, Y: share(c.turns[i], c.auctions)})
		f.Rows = append(f.Rows, []string{
			msText(gridUs(i)), decimal(c.turns[i]), decimal(c.auctions), ratio(c.turns[i], c.auctions),
		})
	}
	f.Series = []Series{s}
	return f
}

// cancelFigure: lower bids, and what they do to the lead.
func (c *clock) cancelFigure() Figure {
	f := Figure{
		ID: "cancellations", Title: "Cancellations",
		Doc: "Bids that are lower than their builder's bid before, which may be cancellations, and how often the leading " +
			"value fell, in each 100 ms: means of all auctions. Whether the lead falls follows from the rule `cancellations`.",
		X: "ms since the slot began, beginning of the 100 ms", Y: "per auction",
		Header: []string{"from_ms", "lower_bids", "falls_of_the_lead", "lost_wei", "auctions"},
	}
	if c.auctions == 0 {
		f.Missing = noAuctions
		return f
	}
	lower, falls := Series{Name: "lower bids", Form: Step}, Series{Name: "falls of the lead", Form: Step}
	for i := range gridLen - 1 {
		x := float64(gridUs(i)) / 1000
		lower.Points = append(lower.Points, Point{X: x, Y: share(c.lower[i], c.auctions)})
		falls.Points = append(falls.Points, Point{X: x, Y: share(c.falls[i], c.auctions)})
		f.Rows = append(f.Rows, []string{
			msText(gridUs(i)), decimal(c.lower[i]), decimal(c.falls[i]), c.lost[i].String(), decimal(c.auctions),
		})
	}
	f.Series = []Series{lower, falls}
	return f
}
