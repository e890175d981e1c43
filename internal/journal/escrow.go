package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNotFound says that the escrow has no value for a key, or no longer.
var ErrNotFound = errors.New("not in the escrow")

// Put keeps a value under a key (letters, digits and dashes), in place of an earlier one. It returns when the value is kept.
func (j *Journal) Put(ctx context.Context, key string, value []byte) error {
	if _, err := j.js.Publish(ctx, "escrow."+key, value); err != nil {
		return fmt.Errorf("put %s into the escrow: %w", key, err)
	}
	return nil
}

// Get is the value of a key; ErrNotFound when there is none.
func (j *Journal) Get(ctx context.Context, key string) ([]byte, error) {
	message, err := j.escrow.GetLastMsgForSubject(ctx, "escrow."+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s from the escrow: %w", key, err)
	}
	return message.Data, nil
}
