package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNotFound says that there is no value for a key, or no longer.
var ErrNotFound = errors.New("not found")

// escrowStore is where the escrow's values are: in the cluster, or beside the embedded engine. get
// answers ErrNotFound.
type escrowStore interface {
	put(ctx context.Context, key string, value []byte) error
	get(ctx context.Context, key string) ([]byte, error)
	drop(ctx context.Context, prefix string) error
	forget(ctx context.Context, key string) error
	bytes() int64
	keys(ctx context.Context, prefix string) ([]string, error)
	sync(ctx context.Context, key string) error
	// size is how many bytes the values take.
	size(ctx context.Context) (int64, error)
}

// Put keeps a value under a key (letters, digits, dashes and dots) in the escrow, in place of an
// earlier one. It returns when the value is kept. Nobody may change the value's bytes any more.
func (j *Journal) Put(ctx context.Context, key string, value []byte) error {
	if len(value) > maxValue {
		return fmt.Errorf("put %s into the escrow: %d bytes, at most %d", key, len(value), maxValue)
	}
	if err := j.escrow.put(ctx, key, value); err != nil {
		return fmt.Errorf("put %s into the escrow: %w", key, err)
	}
	return nil
}

// Get is the value of a key in the escrow, which nobody may change; ErrNotFound when there is none.
func (j *Journal) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := j.escrow.get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get %s from the escrow: %w", key, err)
	}
	return value, nil
}

// SyncEscrow has the value of a key outlive a power cut, if it is there. A cluster has done so, or
// not, when Put returns: that is for its servers.
func (j *Journal) SyncEscrow(ctx context.Context, key string) error {
	if err := j.escrow.sync(ctx, key); err != nil {
		return fmt.Errorf("sync %s in the escrow: %w", key, err)
	}
	return nil
}

// Forget drops the value of a key in the escrow, if it is there.
func (j *Journal) Forget(ctx context.Context, key string) error {
	if err := j.escrow.forget(ctx, key); err != nil {
		return fmt.Errorf("forget %s in the escrow: %w", key, err)
	}
	return nil
}

// EscrowBytes is how much the escrow keeps before the oldest goes; 0 for no bound.
func (j *Journal) EscrowBytes() int64 { return j.escrow.bytes() }

// EscrowKeys are the keys in the escrow that begin with a prefix and a dot, in no order.
func (j *Journal) EscrowKeys(ctx context.Context, prefix string) ([]string, error) {
	keys, err := j.escrow.keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %s in the escrow: %w", prefix, err)
	}
	return keys, nil
}

// Drop forgets the values of all keys in the escrow that begin with a prefix and a dot.
func (j *Journal) Drop(ctx context.Context, prefix string) error {
	if err := j.escrow.drop(ctx, prefix); err != nil {
		return fmt.Errorf("drop %s from the escrow: %w", prefix, err)
	}
	return nil
}

// clusterEscrow is the escrow in a stream, for relays that share it.
type clusterEscrow struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

func (e *clusterEscrow) put(ctx context.Context, key string, value []byte) error {
	_, err := e.js.Publish(ctx, "escrow."+key, value)
	return err
}

func (e *clusterEscrow) get(ctx context.Context, key string) ([]byte, error) {
	return last(ctx, e.stream, "escrow."+key)
}

func (e *clusterEscrow) drop(ctx context.Context, prefix string) error {
	return e.stream.Purge(ctx, jetstream.WithPurgeSubject("escrow."+prefix+".>"))
}

func (e *clusterEscrow) forget(ctx context.Context, key string) error {
	return e.stream.Purge(ctx, jetstream.WithPurgeSubject("escrow."+key))
}

func (e *clusterEscrow) bytes() int64 { return max(e.stream.CachedInfo().Config.MaxBytes, 0) }

func (e *clusterEscrow) keys(ctx context.Context, prefix string) ([]string, error) {
	info, err := e.stream.Info(ctx, jetstream.WithSubjectFilter("escrow."+prefix+".>"))
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, "escrow."))
	}
	return keys, nil
}

func (e *clusterEscrow) sync(context.Context, string) error { return nil }

// Keep keeps a value as evidence, under a key like the escrow's: for good, within the room that
// evidence has.
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
