package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/run"
)

// guardStore stores claims: in the cluster, or in a file beside the embedded engine. claim sets the
// value of a key that has none, and returns the key's value once that will survive a crash and a
// power cut.
type guardStore interface {
	claim(ctx context.Context, key string, value []byte, former []string) (standing []byte, err error)
	close() error
}

// Claim sets the value of a key (letters, digits and dashes), once. The first caller wins. Later
// callers get the value that was set, and have won, too, if it equals theirs. former are names that
// the key had in earlier versions: a value under one of them counts as the key's. After an error it
// is unknown whether the claim was made.
//
// The embedded guard keeps the newest 65,536 claims; a cluster keeps all.
func (j *Journal) Claim(ctx context.Context, key string, value []byte,
	former ...string) (current []byte, won bool, err error) {
	standing, err := j.guard.claim(ctx, key, value, former)
	if err != nil {
		return nil, false, fmt.Errorf("claim %s: %w", key, err)
	}
	return standing, bytes.Equal(standing, value), nil
}

// clusterGuard keeps the claims in a stream, for relays that share them.
type clusterGuard struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// The engine's codes for "the subject has a value already". The second one comes while that value
// is still on its way to the replicas.
const (
	wrongLastSequence   = jetstream.JSErrCodeStreamWrongLastSequence
	wrongLastInProgress = jetstream.ErrorCode(10164)
)

const (
	// claimTime bounds a claim of a caller without a deadline.
	claimTime = 5 * time.Second
	// claimRetry is the pause between two tries while another claim of the key is on its way.
	claimRetry = 5 * time.Millisecond
)

func (g *clusterGuard) claim(ctx context.Context, key string, value []byte, former []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	for _, name := range former {
		standing, err := last(ctx, g.stream, guardPrefix+name)
		if !errors.Is(err, ErrNotFound) {
			return standing, err
		}
	}
	for {
		_, err := g.js.Publish(ctx, guardPrefix+key, value, jetstream.WithExpectLastSequencePerSubject(0))
		if err == nil {
			return value, nil
		}
		if taken := (*jetstream.APIError)(nil); !errors.As(err, &taken) ||
			taken.ErrorCode != wrongLastSequence && taken.ErrorCode != wrongLastInProgress {
			return nil, err
		}
		standing, err := last(ctx, g.stream, guardPrefix+key)
		if !errors.Is(err, ErrNotFound) {
			return standing, err
		}
		// An earlier claim is not stored yet, and may still fail. Then this one is the first.
		if err := run.Pause(ctx, claimRetry); err != nil {
			return nil, err
		}
	}
}

func (g *clusterGuard) close() error { return nil }
