package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Part is a part of a journal with its own bound in bytes.
type Part string

// The parts of a journal whose size is measured.
const (
	Facts    Part = "facts"
	Escrow   Part = "escrow"
	Evidence Part = "evidence"
)

// bytesPatience bounds the request for the size of a part (wall time).
const bytesPatience = time.Second

// Bytes is how many bytes a part of the journal takes, without replicas; -1 if the journal does not
// answer within a second. It is for metrics.
func (j *Journal) Bytes(part Part) int64 {
	ctx, cancel := context.WithTimeout(context.Background(), bytesPatience)
	defer cancel()
	var taken int64
	var err error
	switch part {
	case Facts:
		taken, err = bytesOf(ctx, j.facts)
	case Escrow:
		taken, err = j.escrow.size(ctx)
	case Evidence:
		taken, err = bytesOf(ctx, j.evidence)
	default:
		return -1
	}
	if err != nil {
		return -1
	}
	return taken
}

func bytesOf(ctx context.Context, stream jetstream.Stream) (int64, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask how large a stream is: %w", err)
	}
	return int64(info.State.Bytes), nil
}

func (e *clusterEscrow) size(ctx context.Context) (int64, error) { return bytesOf(ctx, e.stream) }

func (e *localEscrow) size(context.Context) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken, nil
}
