package figures

import (
	"slices"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// steps are what orders may pass, in the order in which they do.
var steps = []struct {
	name   string
	passed func(*dataset.Order) bool
}{
	{"accepted", func(*dataset.Order) bool { return true }},
	{"simulated", func(o *dataset.Order) bool { return o.SimulatedAt.Known }},
	{"shared", func(o *dataset.Order) bool { return o.SharedAt.Known }},
	{"matched", func(o *dataset.Order) bool { return o.MatchedAt.Known }},
	{"sent", func(o *dataset.Order) bool { return o.SentAt.Known }},
	{"landed", func(o *dataset.Order) bool { return o.State == dataset.OrderLanded }},
	{"refunded", func(o *dataset.Order) bool { return o.RefundWei.Hi|o.RefundWei.Lo != 0 }},
}

// allOrders is the funnel of all kinds, and others that of kinds that the RPC does not have.
const (
	allOrders   = "all"
	otherOrders = "others"
)

// kinds are those of orders that have a funnel of their own.
var kinds = []string{allOrders, "bundle", "private-transaction", "share", otherOrders}

// funnel counts for each kind of orders those that passed each step.
type funnel struct{ passed [][]int64 }

func newFunnel() *funnel {
	f := &funnel{}
	for range kinds {
		f.passed = append(f.passed, make([]int64, len(steps)))
	}
	return f
}

// AddOrder adds a row of the table of orders.
func (p *Part) AddOrder(row *dataset.Order) {
	kind := slices.Index(kinds, string(row.Kind))
	if kind <= 0 {
		kind = len(kinds) - 1
	}
	for i, step := range steps {
		if step.passed(row) {
			p.funnel.passed[0][i]++
			p.funnel.passed[kind][i]++
		}
	}
}

func (f *funnel) merge(other *funnel) {
	for kind := range f.passed {
		for i := range f.passed[kind] {
			f.passed[kind][i] += other.passed[kind][i]
		}
	}
}

func (f *funnel) figure() Figure {
	figure := Figure{
		ID: "orders", Title: "Funnel of orders",
		Doc: "Of orders that a bundle RPC has accepted, those that a simulation found good, that were shared as a hint, " +
			"that another order followed, that a builder took, that landed on the chain, and for which a refund was paid. " +
			"Each step counts for itself: an order may land without having been shared.",
		X: "step", Y: "orders", Named: true, Header: []string{"kind", "step", "orders", "share_of_accepted"},
	}
	if f.passed[0][0] == 0 {
		figure.Missing = "The data set has no orders: archives do not have them, runs of gavel's own do."
		return figure
	}
	for kind, passed := range f.passed {
		if passed[0] == 0 {
			continue
		}
		s := Series{Name: kinds[kind], Form: Marker}
		for i, n := range passed {
			s.Points = append(s.Points, Point{X: float64(i), Y: float64(n), Label: steps[i].name})
			figure.Rows = append(figure.Rows, []string{kinds[kind], steps[i].name, decimal(n), ratio(n, passed[0])})
		}
		figure.Series = append(figure.Series, s)
	}
	return figure
}
