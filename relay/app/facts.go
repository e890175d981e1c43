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

// facts puts what happened into the journal and tells the observer.
type facts struct {
	journal factLog
	observe func(relay.Fact)
	log     *slog.Logger
}

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
	if f.observe != nil {
		f.observe(fact)
	}
}
