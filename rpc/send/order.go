package send

import (
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Send queues an order, for a block, at the builders that Choose finds. It does not wait. delivered
// is called once for each of them, when the delivery has ended, from goroutines of the sender. It
// may call the sender, and must not block for long.
func (s *Sender) Send(order *rpc.Order, block uint64, delivered func(rpc.Delivery)) {
	s.unknown.Add(uint64(s.cfg.Builders.countUnknown(order)))
	writers, key := s.orderWriters(order, block), bundle.OutgoingReplacement(order)
	for _, l := range s.queues {
		if !l.builder.gets(order) {
			continue
		}
		j := job{order: order.ID, key: key, write: writers.forBuilder(l.builder), ended: func(err error, tookMs int64) {
			d := rpc.Delivery{Builder: l.builder.Name, Block: block, TookMs: tookMs}
			if err != nil {
				d.Error = visibleError(order, err)
			}
			delivered(d)
		}}
		gone, ok := l.add(j)
		if !ok {
			s.endUnqueued(j, ErrStopped)
		}
		if gone != nil {
			s.endUnqueued(*gone, ErrDropped)
		}
	}
}

// visibleError is the part of an error that an order's signer may read. If the order follows
// another one, the text must say nothing about that order's content or terms.
func visibleError(order *rpc.Order, err error) string {
	var no *refusal
	switch {
	case order.Follows == 0:
	case errors.As(err, &no):
		return fmt.Sprintf("refused: %d", no.code)
	case errors.Is(err, bundle.ErrNotConvertible):
		return bundle.ErrNotConvertible.Error()
	}
	return err.Error()
}
