package fault

import "time"

// Condition is the state of a connection; the zero value has no faults.
type Condition struct {
	// Latency is the delay of everything that is sent, in each direction.
	Latency time.Duration
	// Drop is the share of requests (0 to 1) that are never answered.
	Drop float64
	// Reset breaks open connections, and each new one as soon as it is accepted.
	Reset bool
	// Refuse breaks open connections and stops listening, so that new ones are refused.
	Refuse bool
	// Partition holds all bytes back.
	Partition bool
	// Answer is the HTTP status with which each request is answered instead of reaching the
	// service; 0 means none.
	Answer int
	// Corrupt is the share of requests (0 to 1) whose body reaches the service with wrong bytes; if
	// a request has no body, its answer is spoiled instead.
	Corrupt float64
}

// And returns both conditions at once: latencies add up, and of the rest the worse one holds.
func (c Condition) And(other Condition) Condition {
	return Condition{
		Latency: c.Latency + other.Latency, Drop: max(c.Drop, other.Drop), Reset: c.Reset || other.Reset, Refuse: c.Refuse ||
			other.Refuse,
		Partition: c.Partition || other.Partition, Answer: max(c.Answer, other.Answer), Corrupt: max(c.Corrupt,
			other.Corrupt),
	}
}
