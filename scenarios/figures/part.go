package figures

import "github.com/gavel-relay/gavel/scenarios/backtest"

// Part is what some slots come to.
type Part struct {
	// slot is the slot whose bid curve is shown; 0: the one with the most bids.
	slot     int64
	clock    *clock
	winners  winners
	builders *builders
	spreads  spreads
	payments payments
	winning  *concentration
	whatIfs  *whatIfs
	curve    *backtest.Course
	shading  *shading
	stages   stages
	funnel   *funnel
	missed   missed
}

// NewPart begins with no slots. The bid curve is that of a slot, or if it is 0 of the auction
// with the most bids.
func NewPart(slot int64) *Part {
	return &Part{
		slot: slot, clock: newClock(), builders: newBuilders(), winning: newConcentration(), whatIfs: newWhatIfs(),
		shading: newShading(), funnel: newFunnel(),
	}
}

// Add adds a slot: the courses of its auctions, and the results of all variants.
func (p *Part) Add(courses []backtest.Course, results []backtest.Result) {
	p.clock.add(courses)
	p.spreads.add(courses)
	p.winning.add(courses)
	for i := range courses {
		c := &courses[i]
		p.winners.add(c)
		p.builders.add(c)
		p.payments.add(c)
		p.show(c)
	}
	for i := range results {
		if results[i].Variant == backtest.AsArchived {
			p.builders.countWin(&results[i])
		}
	}
	p.whatIfs.add(results)
}

// show keeps the auction whose bid curve is shown.
func (p *Part) show(c *backtest.Course) {
	if p.slot != 0 && c.Slot != p.slot {
		return
	}
	if p.curve == nil || len(c.Bids) > len(p.curve.Bids) {
		kept := *c
		p.curve = &kept
	}
}

// Merge adds what the slots of another part come to, which are later ones.
func (p *Part) Merge(other *Part) {
	p.clock.merge(other.clock)
	p.winners.deliveredUs = append(p.winners.deliveredUs, other.winners.deliveredUs...)
	p.winners.servedUs = append(p.winners.servedUs, other.winners.servedUs...)
	p.builders.merge(other.builders)
	p.spreads.merge(&other.spreads)
	p.payments.all = append(p.payments.all, other.payments.all...)
	p.payments.deliveries += other.payments.deliveries
	p.winning.merge(other.winning)
	p.whatIfs.merge(other.whatIfs)
	p.shading.merge(other.shading)
	p.stages.merge(&other.stages)
	p.funnel.merge(other.funnel)
	p.missed.merge(&other.missed)
	if other.curve != nil {
		p.show(other.curve)
	}
}

// Figures are all figures, also those with nothing to draw, which say why. Models say for
// variants by name what in them is a model, and no replay.
func (p *Part) Figures(models map[string][]string) []Figure {
	return []Figure{
		curveFigure(p.curve), p.clock.topFigure(), p.clock.riseFigure(), p.winners.figure(), p.clock.turnFigure(),
		p.clock.cancelFigure(), p.builders.figure(p.shading), p.spreads.figure(), p.payments.figure(), p.winning.figure(),
		p.whatIfs.figure(models), p.shading.figure(), p.stages.figure(), p.funnel.figure(), p.missed.figure(),
	}
}
