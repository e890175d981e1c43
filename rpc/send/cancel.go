package send

import (
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Cancel tells builders that an order must not be included any more: those in builders, which the
// caller knows to have it, and those to which it is being sent just now. It also removes the order
// from the queues. It does not wait. An order without a replacementUuid cannot be cancelled at
// builders: it ends with the block that it was sent for.
func (s *Sender) Cancel(order *rpc.Order, builders []string) {
	key := bundle.OutgoingReplacement(order)
	if key == uuid.Nil {
		return
	}
	write := s.cancelWriter(key)
	for _, l := range s.queues {
		if !l.builder.Has(APICancel) {
			continue
		}
		j := job{order: order.ID, key: key, cancel: true, write: write, ended: func(err error, tookMs int64) {
			if err != nil {
				s.cfg.Log.Warn("builder was not told of a cancellation", "builder", l.builder.Name, "order", order.ID, "took_ms",
					tookMs, "error", err)
			}
		}}
		moot, gone, ok := l.cancel(j, containsName(builders, l.builder.Name))
		for _, m := range moot {
			s.endUnqueued(m, ErrCancelled)
		}
		if gone != nil {
			s.endUnqueued(*gone, ErrDropped)
		}
		if !ok {
			s.endUnqueued(j, ErrStopped)
		}
	}
}
