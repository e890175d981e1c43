package figures

import (
	"math"
	"strconv"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// The moments at which proposers ask that are told apart: from -4 s to 12 s, each 100 ms. What is
// beyond is in the first or the last step.
const (
	askSteps  = 160
	askFromUs = gridFromUs
)

// Asked is when the proposer of a slot asked for a header the last time.
type Asked struct{ sentUs, receivedUs dataset.Time }

// Add looks at a request of the slot.
func (a *Asked) Add(r *dataset.Request) {
	if r.Kind != dataset.HeaderRequest {
		return
	}
	for _, one := range []struct {
		last *dataset.Time
		at   dataset.Time
	}{{&a.sentUs, r.SentAt}, {&a.receivedUs, r.ReceivedAt}} {
		if one.at.Known && (!one.last.Known || one.at.Micros > one.last.Micros) {
			*one.last = one.at
		}
	}
}

// lost counts slots, and those of them without a payload on the chain.
type lost struct{ slots, missed, orphaned, empty int64 }

func (l *lost) add(other lost) {
	l.slots += other.slots
	l.missed += other.missed
	l.orphaned += other.orphaned
	l.empty += other.empty
}

func (l *lost) all() int64 { return l.missed + l.orphaned + l.empty }

// missed has slots by the moment at which the proposer asked last.
type missed struct {
	asked    [askSteps]lost
	notAsked lost
}

// AddSlot adds a row of the table of slots, with what was asked in the slot.
func (p *Part) AddSlot(row *dataset.Slot, asked Asked) {
	one := lost{slots: 1}
	switch row.Outcome {
	case dataset.Missed:
		one.missed = 1
	case dataset.Orphaned:
		one.orphaned = 1
	case dataset.Empty:
		one.empty = 1
	}
	at := asked.sentUs // the proposer's own clock, if it tells
	if !at.Known {
		at = asked.receivedUs
	}
	if !at.Known {
		p.missed.notAsked.add(one)
		return
	}
	step := (at.Micros - row.SlotStart.Micros - askFromUs) / gridStepUs
	if at.Micros-row.SlotStart.Micros < askFromUs {
		step = 0
	}
	p.missed.asked[min(step, askSteps-1)].add(one)
}

func (m *missed) merge(other *missed) {
	m.notAsked.add(other.notAsked)
	for i := range m.asked {
		m.asked[i].add(other.asked[i])
	}
}

// wilson returns bounds of 95 % for a share (Wilson 1927, Probable Inference, the score interval).
func wilson(n, of int64) (low, high float64) {
	const z = 1.959963984540054 // of the normal distribution, 2.5 % are beyond
	share, count := float64(n)/float64(of), float64(of)
	middle := share + z*z/(2*count)
	half := z * math.Sqrt(share*(1-share)/count+z*z/(4*count*count))
	whole := 1 + z*z/count
	return max((middle-half)/whole, 0), min((middle+half)/whole, 1)
}

func (m *missed) figure() Figure {
	f := Figure{
		ID: "missed", Title: "Missed slots by when the proposer asked",
		Doc: "The share of slots without a payload on the chain (missed, orphaned or empty), by when their proposer asked " +
			"for a header the last time, whether it was served or not, in steps of 100 ms: with bounds of 95 % (Wilson's " +
			"score interval). The moment is that of the proposer's clock, or if only a relay tells, of the relay's. The " +
			"first and the last step have what was earlier or later. In the table, slots without a request have no time.",
		X: "ms since the slot began, beginning of the 100 ms", Y: "share of slots without a payload",
		Header: []string{"from_ms", "slots", "missed", "orphaned", "empty", "share", "low", "high"},
	}
	s := Series{Name: "share, and its bounds", Form: Marker}
	slots := m.notAsked.slots
	for i := range m.asked {
		one := &m.asked[i]
		if slots += one.slots; one.slots == 0 {
			continue
		}
		from := askFromUs + int64(i)*gridStepUs
		low, high := wilson(one.all(), one.slots)
		s.Points = append(s.Points, Point{
			X: float64(from) / 1000, Y: share(one.all(), one.slots), Low: low, High: high, Bounded: true,
		})
		f.Rows = append(f.Rows, lostRow(msText(from), one, low, high))
	}
	switch {
	case slots == 0:
		f.Missing = "The data set does not say what the chain has for its slots: archives do not, runs of gavel's own do."
		return f
	case len(s.Points) == 0:
		f.Missing = "No request for a header is known of any of the " + decimal(slots) + " slots."
		return f
	}
	if one := &m.notAsked; one.slots > 0 {
		low, high := wilson(one.all(), one.slots)
		f.Rows = append(f.Rows, lostRow("", one, low, high))
	}
	f.Series = []Series{s}
	return f
}

func lostRow(from string, l *lost, low, high float64) []string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }
	return []string{
		from, decimal(l.slots), decimal(l.missed), decimal(l.orphaned), decimal(l.empty), ratio(l.all(), l.slots), text(low),
		text(high),
	}
}
