package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// LogInfo says which facts the log holds, and what bounds it.
type LogInfo struct {
	// First is the number of the oldest fact that is left, Last that of the newest there ever was.
	// First is Last+1 if no fact is left.
	First, Last uint64
	// MaxBytes and MaxAge are the log's bounds; 0 for none.
	MaxBytes int64
	MaxAge   time.Duration
}

// LogInfo asks the log.
func (j *Journal) LogInfo(ctx context.Context) (LogInfo, error) {
	info, err := j.facts.Info(ctx)
	if err != nil {
		return LogInfo{}, fmt.Errorf("ask what the log holds: %w", err)
	}
	first := max(info.State.FirstSeq, 1)
	if info.State.Msgs == 0 {
		first = info.State.LastSeq + 1
	}
	return LogInfo{First: first, Last: info.State.LastSeq, MaxBytes: max(info.Config.MaxBytes, 0),
		MaxAge: info.Config.MaxAge}, nil
}

// LastWithSeq is the newest fact of a subject and its number in the log; ErrNotFound if there is
// none, or if this journal has begun a term and the fact is of another one.
func (j *Journal) LastWithSeq(ctx context.Context, subject string) (place uint64, data []byte, err error) {
	message, err := j.facts.GetLastMsgForSubject(ctx, factPrefix+subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil, fmt.Errorf("fact %s: %w", subject, ErrNotFound)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("find the last fact of %s: %w", subject, err)
	}
	if j.term.number != 0 && termOf(message.Header) != j.term.number {
		return 0, nil, fmt.Errorf("fact %s of term %d: %w", subject, j.term.number, ErrNotFound)
	}
	return message.Sequence, message.Data, nil
}
