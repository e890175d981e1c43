package bench

import (
	"fmt"
	"time"
)

// Shared is an order whose event all listeners must get.
type Shared struct {
	// Event is the hash that the event has.
	Event [32]byte
	// Sent is when the order's request was due.
	Sent time.Duration
}

// Heard is an event that a listener has got.
type Heard struct {
	Listener int
	Event    [32]byte
	At       time.Duration
}

// delivered is the status of a sample of an event that came, which was a part of an answer 200.
const delivered = 200

// CheckEvents compares what listeners have got with the orders that were accepted, and returns a
// sample for each listener and order, and how often an event was lost or doubled. Gone says which
// listeners' connections were cut: what these have not got is not missed. Events of other orders
// are nobody's fault.
func CheckEvents(orders []Shared, heard []Heard, listeners int, gone map[int]bool) (samples []Sample, found []Found) {
	type place struct {
		listener int
		event    [32]byte
	}
	got := map[place][]time.Duration{}
	for _, h := range heard {
		p := place{h.Listener, h.Event}
		got[p] = append(got[p], h.At)
	}
	found = []Found{{Fault: LostEvent}, {Fault: DoubledEvent}}
	for _, order := range orders {
		for listener := range listeners {
			times := got[place{listener, order.Event}]
			lost, doubled := "", ""
			switch {
			case len(times) == 0 && gone[listener]:
				continue
			case len(times) == 0:
				lost = fmt.Sprintf("listener %d has no event %#x of an order that was sent at %v", listener, order.Event[:],
					order.Sent.Round(time.Millisecond))
			case len(times) > 1:
				doubled = fmt.Sprintf("listener %d has event %#x %d times", listener, order.Event[:], len(times))
			}
			found[0].Judge(lost)
			found[1].Judge(doubled)
			sample := Sample{Kind: Events, At: order.Sent}
			if lost == "" {
				sample.Took, sample.Status, sample.Good = times[0]-order.Sent, delivered, true
			}
			samples = append(samples, sample)
		}
	}
	return samples, found
}
