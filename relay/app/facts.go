package app

import (
	"encoding/json"
	"log/slog"

	"github.com/gavel-relay/gavel/relay"
)

// factLog is where facts are kept, in order. AppendAsync does not wait for the disk.
type factLog interface {
	AppendAsync(subject string, data []byte) error
}

// facts puts what happened into the journal and tells who listens.
type facts struct {
	journal factLog
	log     *slog.Logger
	// listeners are told every fact as it happens; they do not block. They are set before the first fact.
	listeners []relay.Facts
}

// listener is a function that listens.
type listener func(relay.Fact)

// Record implements relay.Facts.
func (l listener) Record(fact relay.Fact) { l(fact) }

// subjectPrefix is the relay's part of the journal.
const subjectPrefix = "relay."

// Record implements relay.Facts.
func (f *facts) Record(fact relay.Fact) {
	data, err := json.Marshal(fact)
	if err == nil {
		err = f.journal.AppendAsync(subjectPrefix+fact.Subject(), data)
	}
	if err != nil {
		f.log.Error("record fact", "fact", fact.Subject(), "error", err)
	}
	for _, l := range f.listeners {
		l.Record(fact)
	}
}
