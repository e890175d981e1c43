package send

import (
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Send hands an order, for a block, to the builders that Choose finds. It does not wait. told is called once for each of them, when its delivery has
// ended, from goroutines of the sender; it may call the sender, and must not block for long.
func (s *Sender) Send(order *rpc.Order, block uint64, told func(rpc.Delivery)) {
	s.unknown.Add(uint64(s.cfg.Builders.unknown(order)))
	writers, key := s.orderWriters(order, block), bundle.OutgoingReplacement(order)
	for _, l := range s.lines {
		if !l.builder.gets(order) {
			continue
		}
		j := job{order: order.ID, key: key, write: writers.forBuilder(l.builder), ended: func(err error, tookMs int64) {
			d := rpc.Delivery{Builder: l.builder.Name, Block: block, TookMs: tookMs}
			if err != nil {
				d.Error = err.Error()
			}
			told(d)
		}}
		gone, ok := l.add(j)
		if !ok {
			s.tell(j, ErrStopped)
		}
		if gone != nil {
			s.tell(*gone, ErrDropped)
		}
	}
}
