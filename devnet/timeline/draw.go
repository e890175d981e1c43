package timeline

import (
	"fmt"
	"strconv"
	"strings"
)

// The size of a slot's picture in its own units. The left edge is one slot before the slot begins,
// since that is when its auction begins; the right edge is its end.
const (
	pictureWidth = 960
	plotLeft     = 70
	plotRight    = 940
	laneHeight   = 20
	bidsHeight   = 84
	bandHeight   = 16
	axisHeight   = 18
)

// picture is a slot's picture, ready for the template.
type picture struct {
	Width, Height int
	Left, Right   int
	Bands         []shownBand
	Lanes         []shownLane
	Ticks         []tick
	Marks         []mark
	Top           string // the points of the leading bid's line
	Attest        string // where attesters vote
	AttestEnd     int    // where the lines of times end
}

type shownBand struct {
	X, Width string
	Y        int
	Text     string
}

type shownLane struct {
	Name string
	Y    int
}

type tick struct {
	X, Text string
	Begin   bool // where the slot begins
}

// mark is a fact in the picture.
type mark struct {
	Number int
	X, Y   string
	Shape  string // dot, ring, cross, square, diamond
	Class  string
	Label  string
}

// draw makes the picture of a slot.
func (c *Chart) draw(s *slot) picture {
	p := picture{Width: pictureWidth, Left: plotLeft, Right: plotRight}
	p.Bands = c.bandsOf(s)
	y := 4 + bandHeight*len(p.Bands)
	for l := range laneNone {
		if len(s.lanes[l]) == 0 {
			continue
		}
		height := laneHeight
		if l == laneBids {
			height = bidsHeight
		}
		p.Lanes = append(p.Lanes, shownLane{laneNames[l], y + height/2 + 4})
		c.drawLane(&p, s.lanes[l], l, y, height)
		y += height
	}
	p.AttestEnd = y
	p.Height = y + axisHeight
	p.Ticks = c.ticks()
	p.Attest = c.x(c.attestMs(s.fork))
	return p
}

// attestMs is when attesters vote in a slot: after a third of it, from gloas on after a quarter.
func (c *Chart) attestMs(fork string) int64 {
	if fork == "gloas" {
		return c.About.SlotMs / 4
	}
	return c.About.SlotMs / 3
}

// x is the place of a time in the slot; what is outside of the picture is at its edge.
func (c *Chart) x(ms int64) string {
	length := max(c.About.SlotMs, 1)
	share := float64(min(max(ms, -length), length)+length) / float64(2*length)
	return number(plotLeft + share*(plotRight-plotLeft))
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// ticks are at quarters of a slot.
func (c *Chart) ticks() (all []tick) {
	for quarter := int64(-4); quarter <= 4; quarter++ {
		ms := quarter * c.About.SlotMs / 4
		text := strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) + " s"
		all = append(all, tick{c.x(ms), text, quarter == 0})
	}
	return all
}

// bandsOf are the faults while a slot is in its picture, each on a line of its own.
func (c *Chart) bandsOf(s *slot) (all []shownBand) {
	begin := int64(s.number) * c.About.SlotMs
	for _, b := range c.bands {
		from, until := b.begin-begin, b.end-begin
		if b.open {
			until = c.About.SlotMs
		}
		if until < -c.About.SlotMs || from > c.About.SlotMs {
			continue
		}
		left, right := place(c.x(from)), place(c.x(until))
		all = append(all, shownBand{X: number(left), Width: number(max(right-left, 2)), Y: 2 + bandHeight*len(all),
			Text: strings.TrimSpace(b.what + " " + b.on)})
	}
	return all
}

// place reads back what number wrote.
func place(x string) float64 {
	value, _ := strconv.ParseFloat(x, 64) // of number's own making
	return value
}

// drawLane adds the marks of a lane. Bids are as high as their value. The line of the leading bid
// goes on until the slot begins, or until it changes for the last time after that.
func (c *Chart) drawLane(p *picture, facts []kept, l lane, y, height int) {
	most := 0.0
	for i := range facts {
		if value := wei(facts[i].ValueWei); l == laneBids && value != nil {
			most = max(most, value.Float64())
		}
	}
	var top strings.Builder
	before, last := "", int64(0)
	for i := range facts {
		f := &facts[i]
		middle := float64(y) + float64(height)/2
		if value := wei(f.ValueWei); l == laneBids {
			middle = float64(y + height - 6)
			if value != nil && most > 0 {
				middle -= value.Float64() / most * float64(height-14)
			}
		}
		x, at := c.x(f.SlotMs), number(middle)
		if f.Subject == topChanged {
			if before != "" {
				fmt.Fprintf(&top, "%s,%s ", x, before)
			}
			fmt.Fprintf(&top, "%s,%s ", x, at)
			before, last = at, max(last, f.SlotMs)
		}
		p.Marks = append(p.Marks, mark{Number: f.number, X: x, Y: at, Shape: f.shape(), Class: c.class(&f.Fact),
			Label: f.label()})
	}
	if before != "" {
		p.Top = fmt.Sprintf("%s%s,%s", top.String(), c.x(last), before)
	}
}

// shape tells kinds of facts apart without colours.
func (f *Fact) shape() string {
	switch {
	case f.isBad():
		return "cross"
	case f.Subject == topChanged || f.Subject == SlotFinished:
		return "diamond"
	case f.Subject == submissionJudged && !f.Counts:
		return "ring"
	case f.lane() == laneBids, f.lane() == laneOrders, f.lane() == laneHints:
		return "dot"
	}
	return "square"
}

// class says how a mark is coloured: by its builder, or as what failed.
func (c *Chart) class(f *Fact) string {
	if f.isBad() {
		return "bad"
	}
	if colour, has := c.builders[f.About]; has && f.lane() != laneOrders {
		return "b" + strconv.Itoa(colour)
	}
	return "plain"
}

// label says a fact in a line.
func (f *Fact) label() string {
	parts := []string{strconv.FormatInt(f.SlotMs, 10) + " ms:", strings.ReplaceAll(f.Subject, "_", " ")}
	for _, part := range []string{f.About, f.ID} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if f.ValueWei != "" {
		parts = append(parts, ether(f.ValueWei)+" ETH")
	}
	if f.Actor != "" {
		parts = append(parts, "("+f.Actor+")")
	}
	return strings.Join(parts, " ")
}
