package app

import (
	"encoding/json"
	"log/slog"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// facts writes facts into the journal and calls the listeners.
type facts struct {
	*journal.Queue[relay.Fact]
	listeners []relay.Facts
}

// newFacts starts the writing; Close ends it. observe, if not nil, is called for every fact in the
// order of the journal. Listeners get every fact as it happens, and must not block.
func newFacts(to journal.Appender, log *slog.Logger, encode factEncoder, observe func(relay.Fact),
	listeners ...relay.Facts) *facts {
	f := &facts{Queue: journal.NewQueue(to, log, encode.encodeForQueue), listeners: listeners}
	f.Observe = observe
	return f
}

// subjectPrefix is in front of the subjects of all facts of the relay.
const subjectPrefix = "relay."

// Record implements relay.Facts. Facts that strangers can cause in any number may fill no more than
// half of the queue.
func (f *facts) Record(fact relay.Fact) {
	switch fact.(type) {
	case relay.HeaderServed, relay.SubmissionJudged:
		f.PutLater(fact)
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
