package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNotFound says that there is no value for a key, or no longer.
var ErrNotFound = errors.New("not found")

// Put keeps a value under a key (letters, digits, dashes and dots) in the escrow, in place of an earlier one. It returns when the value is kept.
func (j *Journal) Put(ctx context.Context, key string, value []byte) error {
	if _, err := j.js.Publish(ctx, "escrow."+key, value); err != nil {
		return fmt.Errorf("put %s into the escrow: %w", key, err)
	}
	return nil
}

// Get is the value of a key in the escrow; ErrNotFound when there is none.
func (j *Journal) Get(ctx context.Context, key string) ([]byte, error) {
	return last(ctx, j.escrow, "escrow."+key)
}

// Drop forgets the values of all keys in the escrow that begin with a prefix and a dot.
func (j *Journal) Drop(ctx context.Context, prefix string) error {
	if err := j.escrow.Purge(ctx, jetstream.WithPurgeSubject("escrow."+prefix+".>")); err != nil {
		return fmt.Errorf("drop %s from the escrow: %w", prefix, err)
	}
	return nil
}

// Keep keeps a value as evidence, under a key like the escrow's: for good, within the room that evidence has.
func (j *Journal) Keep(ctx context.Context, key string, value []byte) error {
	if _, err := j.js.Publish(ctx, "evidence."+key, value); err != nil {
		return fmt.Errorf("keep evidence %s: %w", key, err)
	}
	return nil
}

// Kept is the evidence of a key; ErrNotFound when there is none.
func (j *Journal) Kept(ctx context.Context, key string) ([]byte, error) {
	return last(ctx, j.evidence, "evidence."+key)
}

func last(ctx context.Context, stream jetstream.Stream, subject string) ([]byte, error) {
	message, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%s: %w", subject, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", subject, err)
	}
	return message.Data, nil
}
