package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// factLine is a message of facts, as a line of an export. The member journal comes first: by it a
// reader knows what the file is.
type factLine struct {
	Journal string    `json:"journal"`
	Seq     uint64    `json:"seq"`
	At      time.Time `json:"at"`
	Subject string    `json:"subject"`
	// Fact is an object, or a list of them: frequent facts share messages.
	Fact json.RawMessage `json:"fact"`
}

// WriteFacts writes the facts of some subjects that are in the log now and have a number above
// after, a line of JSON for each message, in order:
//
//	{"journal":"…","seq":7,"at":"2026-01-02T03:04:05Z","subject":"relay.top_changed","fact":{…}}
//
// So who has read up to a number asks again for what is after it.
func (j *Journal) WriteFacts(ctx context.Context, after uint64, subjects []string, out io.Writer) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	err := j.past(ctx, factsName, factPrefix, fromPlace(after+1), subjects,
		func(seq uint64, at time.Time, subject string, data []byte) error {
			return lines.Encode(factLine{Journal: j.id, Seq: seq, At: at.UTC(), Subject: subject, Fact: data})
		})
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	return nil
}

// WriteFacts writes all facts of a journal that no service need have open, as the method does.
func WriteFacts(ctx context.Context, cfg Config, after uint64, out io.Writer) error {
	j, err := attachTo(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(j.WriteFacts(ctx, after, []string{">"}, out), j.Close(ctx))
}
