package journal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// statePrefix keeps the state's subjects apart from others.
const statePrefix = "state."

// PutState stores the state of a subject, in place of the one before, and returns when it is
// stored. The embedded engine has synced it then, so it survives a power cut. State has no age: a
// service needs it after a restart, however old it is and whichever facts were dropped since.
//
// A subject is made of words with dots between them; Token makes a word of any text.
func (j *Journal) PutState(ctx context.Context, subject string, data []byte) error {
	_, err := j.StoreState(ctx, subject, data)
	return err
}

// StoreState is PutState that returns the number of the state in its stream. After an error the
// state may be stored or not, because the ack may have been lost on its way back.
func (j *Journal) StoreState(ctx context.Context, subject string, data []byte) (seq uint64, err error) {
	ack, err := j.js.Publish(ctx, statePrefix+subject, data)
	if err != nil {
		j.suspectEngine()
		return 0, fmt.Errorf("keep state %s: %w", subject, err)
	}
	return ack.Sequence, j.syncState(subject)
}

// SwapState stores the state of a subject if the newest one has a number, 0 for none, and returns
// the number of the new one. It has not won if the newest state has another number; then nothing
// has changed. After an error the state may be stored or not.
func (j *Journal) SwapState(ctx context.Context, subject string, number uint64,
	data []byte) (next uint64, won bool, err error) {
	ack, err := j.js.Publish(ctx, statePrefix+subject, data, jetstream.WithExpectLastSequencePerSubject(number))
	if taken := (*jetstream.APIError)(nil); errors.As(err, &taken) &&
		(taken.ErrorCode == wrongLastSequence || taken.ErrorCode == wrongLastInProgress) {
		return 0, false, nil
	}
	if err != nil {
		j.suspectEngine()
		return 0, false, fmt.Errorf("swap state %s: %w", subject, err)
	}
	return ack.Sequence, true, j.syncState(subject)
}

// NumberedState is the state of a subject and its number in the stream; ErrNotFound if there is
// none.
func (j *Journal) NumberedState(ctx context.Context, subject string) (number uint64, data []byte, err error) {
	message, err := j.state.GetLastMsgForSubject(ctx, statePrefix+subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil, fmt.Errorf("state %s: %w", subject, ErrNotFound)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read state %s: %w", subject, err)
	}
	return message.Sequence, message.Data, nil
}

// syncState returns when acked state is on the disk.
func (j *Journal) syncState(subject string) error {
	if j.syncs == nil {
		return nil
	}
	if err := j.syncs.state(); err != nil {
		return fmt.Errorf("keep state %s: %w", subject, err)
	}
	return nil
}

// State is the state of a subject; ErrNotFound if there is none.
func (j *Journal) State(ctx context.Context, subject string) ([]byte, error) {
	data, err := last(ctx, j.state, statePrefix+subject)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return data, nil
}

// DropState removes the state of a subject, and returns when that is stored. It is no error if
// there is none.
func (j *Journal) DropState(ctx context.Context, subject string) error {
	if err := j.state.Purge(ctx, jetstream.WithPurgeSubject(statePrefix+subject)); err != nil {
		return fmt.Errorf("forget state %s: %w", subject, err)
	}
	return j.syncState(subject)
}

// DropStateBefore is DropState for what was stored before a number of the stream. State that
// another process stores meanwhile stays.
func (j *Journal) DropStateBefore(ctx context.Context, subject string, number uint64) error {
	err := j.state.Purge(ctx, jetstream.WithPurgeSubject(statePrefix+subject), jetstream.WithPurgeSequence(number))
	if err != nil {
		return fmt.Errorf("forget state %s: %w", subject, err)
	}
	return j.syncState(subject)
}

// States calls handle with the state of each subject that begins with a prefix and a dot, in the
// order in which they were stored. handle owns the data; its error ends the reading.
func (j *Journal) States(ctx context.Context, prefix string, handle func(at time.Time, subject string,
	data []byte) error) error {
	if err := j.past(ctx, stateName, statePrefix, fromPlace(1), []string{prefix + ".>"},
		unnumbered(handle)); err != nil {
		return fmt.Errorf("read state %s: %w", prefix, err)
	}
	return nil
}

// Token turns any text into one word of a subject. Different texts have different words.
func Token(text string) string {
	if text == "" {
		return "%"
	}
	return strings.ReplaceAll(url.QueryEscape(text), ".", "%2E")
}
