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
func newFacts(to journal.Appender, log *slog.Logger, observe func(relay.Fact), listeners ...relay.Facts) *facts {
	f := &facts{Queue: journal.NewQueue(to, log, encodeFact), listeners: listeners}
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

func encodeFact(fact relay.Fact) (subject string, data []byte, err error) {
	data, err = json.Marshal(fact)
	return subjectPrefix + fact.Subject(), data, err
}
