package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// facts writes facts into the journal and calls the listeners.
type facts struct {
	*journal.Queue[relay.Fact]
	once      *journal.Resender[relay.Fact]
	listeners []relay.Facts
}

// newFacts starts the writing; Close ends it. observe, if not nil, is called for every fact in the
// order of the journal. Listeners get every fact as it happens, and must not block.
func newFacts(to journal.Appender, log *slog.Logger, encode factEncoder, observe func(relay.Fact),
	listeners ...relay.Facts) *facts {
	f := &facts{Queue: journal.NewQueue(to, log, encode.encodeForQueue), listeners: listeners}
	f.Observe = observe
	f.once = journal.NewResender(f.Queue)
	return f
}

// Close writes what waits, and returns when it is written or the context ends.
func (f *facts) Close(ctx context.Context) error {
	return errors.Join(f.once.Close(ctx), f.Queue.Close(ctx))
}

// happensOnce says which facts nobody tells again: what was delivered, and why a builder has lost
// its trust. There are few, and they are sent until the journal has them.
func happensOnce(fact relay.Fact) bool {
	switch fact.(type) {
	case relay.PayloadDelivered, relay.PayloadWithheld, relay.PayloadLeft, relay.BuilderDemoted:
		return true
	}
	return false
}

// subjectPrefix is in front of the subjects of all facts of the relay.
const subjectPrefix = "relay."

// isFrequent says which facts come in thousands.
func isFrequent(fact relay.Fact) bool {
	switch fact.(type) {
	case relay.HeaderServed, relay.SubmissionJudged:
		return true
	}
	return false
}

// Record implements relay.Facts. Facts that strangers can cause in any number may fill no more than
// half of the queue.
func (f *facts) Record(fact relay.Fact) {
	switch {
	case isFrequent(fact):
		f.PutLater(fact)
	case happensOnce(fact):
		f.once.Put(fact)
	default:
		f.Put(fact)
	}
	for _, l := range f.listeners {
		l.Record(fact)
	}
}

// factEncoder encodes facts for the journal. In a cluster it adds the name of the instance that has
// written the fact; in a single process that is empty and left out. Readers that do not know the
// field pass over it.
type factEncoder struct{ instance string }

// encode returns a fact as JSON.
func (e factEncoder) encode(fact relay.Fact) ([]byte, error) {
	data, err := json.Marshal(fact)
	if err != nil || e.instance == "" {
		return data, err
	}
	// Facts are structs with fields that are never left out, so there is one to put a comma behind.
	data = append(data[:len(data)-1], `,"instance":"`...)
	return append(append(data, e.instance...), `"}`...), nil
}

// encodeForQueue returns a fact and its subject for the queue.
func (e factEncoder) encodeForQueue(fact relay.Fact) (subject string, data []byte, err error) {
	data, err = e.encode(fact)
	return subjectPrefix + fact.Subject(), data, err
}
