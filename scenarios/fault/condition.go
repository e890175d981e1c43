package fault

import "time"

// Condition is the state of a connection; the zero condition is a good one.
type Condition struct {
	// Latency is how much later everything arrives, in each direction.
	Latency time.Duration
	// Drop is the share of requests (0 to 1) that are never answered.
	Drop float64
	// Reset breaks open connections, and each new one as soon as it is there.
	Reset bool
	// Refuse breaks open connections, and nobody listens any more: new ones are refused.
	Refuse bool
	// Partition holds everything back.
	Partition bool
	// Answer is a status with which each request is answered in place of the service; 0 is none.
	Answer int
	// Corrupt is the share of requests (0 to 1) whose body reaches the service with wrong bytes;
	// without a body the answer has them.
	Corrupt float64
}

// And is both conditions at once: the worse of each.
func (c Condition) And(other Condition) Condition {
	return Condition{
		Latency: c.Latency + other.Latency, Drop: max(c.Drop, other.Drop), Reset: c.Reset || other.Reset, Refuse: c.Refuse ||
			other.Refuse,
		Partition: c.Partition || other.Partition, Answer: max(c.Answer, other.Answer), Corrupt: max(c.Corrupt,
			other.Corrupt),
	}
}
