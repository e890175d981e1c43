package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNotFound says that a key has no value, or no longer one.
var ErrNotFound = errors.New("not found")

// escrowStore stores the escrow's values: in the cluster, or beside the embedded engine. get
// returns ErrNotFound if there is no value.
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

// makeEscrow makes the escrow: in a stream of the cluster, or beside the embedded engine.
func (j *Journal) makeEscrow(ctx context.Context, cfg Config) error {
	inMemory := cfg.EscrowInMemory || cfg.URL == "" && cfg.Dir == ""
	keepFor := cmp.Or(cfg.EscrowFor, 10*time.Minute)
	if cfg.URL == "" {
		dir := ""
		if !inMemory {
			dir = filepath.Join(cfg.Dir, "escrow")
		}
		local, err := openLocalEscrow(dir, keepFor, j.quota.escrow)
		j.escrow = local
		return err
	}
	storage := jetstream.FileStorage
	if inMemory {
		storage = jetstream.MemoryStorage
	}
	stream, err := j.makeStream(ctx, cfg, jetstream.StreamConfig{
		Name: escrowName, Subjects: []string{"escrow.>"}, Storage: storage, MaxAge: keepFor, MaxMsgsPerSubject: 1,
		MaxBytes: j.quota.escrow, Duplicates: duplicates(keepFor),
	})
	if err != nil {
		return err
	}
	j.escrow = &clusterEscrow{js: j.js, stream: stream}
	return nil
}

// Put stores a value under a key (letters, digits, dashes and dots) in the escrow, in place of an
// earlier one. It returns when the value is acked. The caller must not change the value's bytes
// afterwards.
func (j *Journal) Put(ctx context.Context, key string, value []byte) error {
	if len(value) > maxValue {
		return fmt.Errorf("put %s into the escrow: %d bytes, at most %d", key, len(value), maxValue)
	}
	if err := j.escrow.put(ctx, key, value); err != nil {
		return fmt.Errorf("put %s into the escrow: %w", key, err)
	}
	return nil
}

// Get returns the value of a key in the escrow; ErrNotFound if there is none. The caller must not
// change it.
func (j *Journal) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := j.escrow.get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get %s from the escrow: %w", key, err)
	}
	return value, nil
}

// SyncEscrow makes the value of a key, if there is one, survive a power cut. It does nothing for a
// cluster, whose servers decide when they sync.
func (j *Journal) SyncEscrow(ctx context.Context, key string) error {
	if err := j.escrow.sync(ctx, key); err != nil {
		return fmt.Errorf("sync %s in the escrow: %w", key, err)
	}
	return nil
}

// Forget removes the value of a key in the escrow, if there is one.
func (j *Journal) Forget(ctx context.Context, key string) error {
	if err := j.escrow.forget(ctx, key); err != nil {
		return fmt.Errorf("forget %s in the escrow: %w", key, err)
	}
	return nil
}

// EscrowBytes is how many bytes the escrow keeps before it drops the oldest values; 0 for no bound.
func (j *Journal) EscrowBytes() int64 { return j.escrow.bytes() }

// EscrowKeys are the keys in the escrow that begin with a prefix and a dot, in no order.
func (j *Journal) EscrowKeys(ctx context.Context, prefix string) ([]string, error) {
	keys, err := j.escrow.keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %s in the escrow: %w", prefix, err)
	}
	return keys, nil
}

// Drop removes the values of all keys in the escrow that begin with a prefix and a dot.
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

// Keep stores a value as evidence, under a key like the escrow's. It is kept until evidence exceeds
// its bytes and it is the oldest.
func (j *Journal) Keep(ctx context.Context, key string, value []byte) error {
	if _, err := j.js.Publish(ctx, "evidence."+key, value); err != nil {
		return fmt.Errorf("keep evidence %s: %w", key, err)
	}
	return nil
}

// Kept is the evidence of a key; ErrNotFound if there is none.
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
