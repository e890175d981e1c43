package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/backoff"
)

// guardStore is where claims are kept: in the cluster, or in a file beside the embedded engine.
// claim gives a key its first value and answers the value that stands, when that will outlive a
// crash and a power cut.
type guardStore interface {
	claim(ctx context.Context, key string, value []byte, former []string) (standing []byte, err error)
	close() error
}

// Claim gives a key (letters, digits and dashes) its value, once. The first caller wins; whoever
// comes later learns the value that stands, and has won too if it is its own. Former are names that
// the key had in earlier versions: a value that stands under one of them stands. An error means
// that nothing is known.
//
// The embedded guard remembers the newest 65,536 claims, a cluster's all.
func (j *Journal) Claim(ctx context.Context, key string, value []byte,
	former ...string) (current []byte, won bool, err error) {
	standing, err := j.guard.claim(ctx, key, value, former)
	if err != nil {
		return nil, false, fmt.Errorf("claim %s: %w", key, err)
	}
	return standing, bytes.Equal(standing, value), nil
}

// clusterGuard has the claims in a stream, for relays that share them.
type clusterGuard struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// The engine's codes for "the subject has a value already": the second comes while that value is
// still on its way to the replicas.
const (
	wrongLastSequence   = jetstream.JSErrCodeStreamWrongLastSequence
	wrongLastInProgress = jetstream.ErrorCode(10164)
)

const (
	// claimTime bounds a claim of a caller without a deadline.
	claimTime = 5 * time.Second
	// claimRetry is how long the value of a claim that is on its way is waited for before it is asked
	// for again.
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
		// The claim that came before this one is not kept yet, and may come to nothing: then this one is
		// the first.
		if err := backoff.Wait(ctx, claimRetry); err != nil {
			return nil, err
		}
	}
}

func (g *clusterGuard) close() error { return nil }
