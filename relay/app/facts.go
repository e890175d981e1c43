package app

import (
	"encoding/json"
	"log/slog"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// facts puts what happened into the journal and tells who listens.
type facts struct {
	*journal.Queue[queuedFact]
	// listeners are told every fact but a served header as it happens; they do not block. They are set before the first fact.
	listeners []relay.Facts
}

// queuedFact is a fact, or, without one, a header that was served: kept by value, it costs the proposer's request no allocation.
type queuedFact struct {
	fact   relay.Fact
	served relay.HeaderServed
}

// any is the fact, whichever way it is kept.
func (q queuedFact) any() relay.Fact {
	if q.fact == nil {
		return q.served
	}
	return q.fact
}

// newFacts starts the writing; Close ends it. observe, if not nil, is told every fact in the order of the journal.
func newFacts(to journal.Appender, log *slog.Logger, observe func(relay.Fact)) *facts {
	f := &facts{Queue: journal.NewQueue(to, log, encodeFact)}
	if observe != nil {
		f.Observe = func(q queuedFact) { observe(q.any()) }
	}
	return f
}

// subjectPrefix is the relay's part of the journal.
const subjectPrefix = "relay."

// Record implements relay.Facts.
func (f *facts) Record(fact relay.Fact) {
	f.Put(queuedFact{fact: fact})
	for _, l := range f.listeners {
		l.Record(fact)
	}
}

// RecordHeader implements top.Served.
func (f *facts) RecordHeader(served relay.HeaderServed) { f.PutLater(queuedFact{served: served}) }

// encodeFact is a fact's JSON: of a served header, which comes in thousands, without reflection.
func encodeFact(q queuedFact) (subject string, data []byte, err error) {
	if q.fact == nil {
		return subjectPrefix + q.served.Subject(), q.served.AppendJSON(make([]byte, 0, 512)), nil
	}
	data, err = json.Marshal(q.fact)
	return subjectPrefix + q.fact.Subject(), data, err
}
