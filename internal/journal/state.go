package journal

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// statePrefix keeps the state's subjects apart from others.
const statePrefix = "state."

// PutState keeps what is so now under a subject, in place of what was, and returns when that is
// kept: by the embedded engine on its disk, so that it outlives a power cut. State has no age: it
// is what a service needs to go on where it was, however long ago that became so, and whatever
// facts have been forgotten since.
//
// A subject is made of words with dots between them; Token makes a word of any text.
func (j *Journal) PutState(ctx context.Context, subject string, data []byte) error {
	if _, err := j.js.Publish(ctx, statePrefix+subject, data); err != nil {
		j.suspectEngine()
		return fmt.Errorf("keep state %s: %w", subject, err)
	}
	return j.syncState(subject)
}

// syncState returns when the state that was acked is on the disk.
func (j *Journal) syncState(subject string) error {
	if j.syncs == nil {
		return nil
	}
	if err := j.syncs.state(); err != nil {
		return fmt.Errorf("keep state %s: %w", subject, err)
	}
	return nil
}

// State is what is so now under a subject; ErrNotFound when nothing is.
func (j *Journal) State(ctx context.Context, subject string) ([]byte, error) {
	data, err := last(ctx, j.state, statePrefix+subject)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return data, nil
}

// DropState forgets what is under a subject, and returns when it is forgotten. Nothing there is no
// error.
func (j *Journal) DropState(ctx context.Context, subject string) error {
	if err := j.state.Purge(ctx, jetstream.WithPurgeSubject(statePrefix+subject)); err != nil {
		return fmt.Errorf("forget state %s: %w", subject, err)
	}
	return j.syncState(subject)
}

// States hands over all that is so now under the subjects that begin with a prefix and a dot, in
// the order in which it became so. handle owns the data; its error ends the reading.
func (j *Journal) States(ctx context.Context, prefix string, handle func(at time.Time, subject string,
	data []byte) error) error {
	if err := j.past(ctx, stateName, statePrefix, fromPlace(1), []string{prefix + ".>"}, handle); err != nil {
		return fmt.Errorf("read state %s: %w", prefix, err)
	}
	return nil
}

// Token makes one word of a subject of any text. Different texts have different words.
func Token(text string) string {
	if text == "" {
		return "%"
	}
	return strings.ReplaceAll(url.QueryEscape(text), ".", "%2E")
}
