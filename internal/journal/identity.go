package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ID is the identity of the log of facts: random, made with the log, and the same for as long as
// the log exists. Numbers of facts mean nothing in a log of another identity, so projections store
// the ID together with the number that they have reached.
func (j *Journal) ID() string { return j.id }

// Last is the number of the newest fact; 0 if there was none. Numbers are never reused, also not
// after the oldest facts are gone.
func (j *Journal) Last(ctx context.Context) (uint64, error) {
	info, err := j.facts.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the last fact: %w", err)
	}
	return info.State.LastSeq, nil
}

// TimeOf is when a fact was appended. known is false if the log has no fact of that number: it is
// too old, or the number was skipped.
func (j *Journal) TimeOf(ctx context.Context, seq uint64) (at time.Time, known bool, err error) {
	message, err := j.facts.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return at, false, nil
	}
	if err != nil {
		return at, false, fmt.Errorf("ask for the time of fact %d: %w", seq, err)
	}
	return message.Time, message.Subject != factPrefix+skippedSubject, nil
}
