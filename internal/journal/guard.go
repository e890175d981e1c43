package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// wrongLastSequence is the engine's code for "the subject has a value already".
const wrongLastSequence = jetstream.JSErrCodeStreamWrongLastSequence

// Claim gives a key (letters, digits and dashes) its value, once and for ever. The first caller wins; whoever comes later learns the value that
// stands, and has won too if it is its own. An error means that nothing is known.
func (j *Journal) Claim(ctx context.Context, key string, value []byte) (current []byte, won bool, err error) {
	subject := "guard." + key
	_, err = j.js.Publish(ctx, subject, value, jetstream.WithExpectLastSequencePerSubject(0))
	if err == nil {
		return value, true, nil
	}
	if taken := (*jetstream.APIError)(nil); !errors.As(err, &taken) || taken.ErrorCode != wrongLastSequence {
		return nil, false, fmt.Errorf("claim %s: %w", key, err)
	}
	standing, err := j.guard.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return nil, false, fmt.Errorf("read the claim of %s: %w", key, err)
	}
	return standing.Data, bytes.Equal(standing.Data, value), nil
}
