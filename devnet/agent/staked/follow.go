package staked

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/sse"
)

// maxEvent bounds one event of a beacon node, in bytes.
const maxEvent = 1 << 16

// retryAfter is the wait before a stream that ended is opened again, in wall time.
const retryAfter = 100 * time.Millisecond

// follow calls handle with each block that a beacon node has imported, until the context ends.
func follow(ctx context.Context, beaconURL string, log *slog.Logger, handle func(data []byte)) {
	for ctx.Err() == nil {
		if err := stream(ctx, beaconURL, handle); err != nil && ctx.Err() == nil {
			log.Warn("beacon node's events of blocks ended", "error", err)
		}
		_ = run.Pause(ctx, retryAfter) // the loop checks the context
	}
}

func stream(ctx context.Context, beaconURL string, handle func(data []byte)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, beaconURL+"/eth/v1/events?topics=block", http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("follow blocks: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("follow blocks: status %d", response.StatusCode)
	}
	for events := sse.NewReader(response.Body, maxEvent); ; {
		event, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("follow blocks: %w", err)
		}
		handle(event.Data)
	}
}
