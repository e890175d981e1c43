package generate

import (
	"context"
	"errors"
	"iter"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Rows are rows of all tables.
type Rows struct {
	Bids          []*dataset.Bid
	Deliveries    []*dataset.Delivery
	Registrations []*dataset.Registration
	Requests      []*dataset.Request
	Slots         []*dataset.Slot
	Stages        []*dataset.Stage
	Orders        []*dataset.Order
	// Transactions are here when they are in a block, and at the end all others.
	Transactions []*dataset.Transaction
}

// SlotsPerHour is how many slots are in an hour, which is what a file of a table has.
const SlotsPerHour = 3600 / slotSeconds

// Run plays an auction house, and hands over the rows of an hour at a time, and at the end the
// others. It is a function of the configuration: the same one gives the same rows, in the same
// order. take is called after each slot; rows is nil if they are handed over with a later one.
func Run(ctx context.Context, cfg Config, take func(slot int, rows *Rows) error) (err error) {
	w, err := open(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.node.Close()) }()
	return w.run(ctx, func(slot int) error {
		if slot < cfg.Slots && (slot+1)%SlotsPerHour != 0 {
			return take(slot, nil)
		}
		if slot == cfg.Slots {
			w.orderflow.flush(true)
			w.rows.Transactions = append(w.rows.Transactions, w.collector.rest()...)
		}
		return take(slot, w.rows.cut(int64(slot)))
	})
}

// All iterates over the rows of all tables.
func (r *Rows) All() iter.Seq[any] {
	return func(yield func(any) bool) {
		_ = each(r.Bids, yield) && each(r.Deliveries, yield) && each(r.Registrations, yield) && each(r.Requests, yield) &&
			each(r.Slots, yield) && each(r.Stages, yield) && each(r.Orders, yield) && each(r.Transactions, yield)
	}
}

func each[R any](rows []*R, yield func(any) bool) bool {
	for _, row := range rows {
		if !yield(row) {
			return false
		}
	}
	return true
}

// cut takes out the rows of slots up to one that is over, so that nothing changes them any more.
func (r *Rows) cut(slot int64) *Rows {
	transactions := r.Transactions
	r.Transactions = nil
	return &Rows{
		Transactions:  transactions,
		Bids:          cut(&r.Bids, slot, func(b *dataset.Bid) dataset.Int { return b.Slot }),
		Deliveries:    cut(&r.Deliveries, slot, func(d *dataset.Delivery) dataset.Int { return d.Slot }),
		Registrations: cut(&r.Registrations, slot, func(g *dataset.Registration) dataset.Int { return g.Slot }),
		Requests:      cut(&r.Requests, slot, func(q *dataset.Request) dataset.Int { return q.Slot }),
		Slots:         cut(&r.Slots, slot, func(s *dataset.Slot) dataset.Int { return s.Slot }),
		Stages:        cut(&r.Stages, slot, func(s *dataset.Stage) dataset.Int { return s.Slot }),
		Orders:        cut(&r.Orders, slot, func(o *dataset.Order) dataset.Int { return o.Slot }),
	}
}

func cut[R any](rows *[]*R, slot int64, slotOf func(*R) dataset.Int) (taken []*R) {
	var kept []*R
	for _, row := range *rows {
		if slotOf(row).V <= slot {
			taken = append(taken, row)
		} else {
			kept = append(kept, row)
		}
	}
	*rows = kept
	return taken
}
