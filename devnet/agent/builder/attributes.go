package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/sse"
)

// Attributes are what a block for a slot on a certain parent must contain.
type Attributes = eth.PayloadAttributes

// maxEvent bounds one event of a beacon node, in bytes.
const maxEvent = 1 << 20

// retryAfter is the wait before a stream that ended is opened again, in wall time.
const retryAfter = 100 * time.Millisecond

// Follow calls handle with the attributes that a beacon node announces, until the context ends, and
// then returns nil. If the stream ends, it is opened again. That is logged, and so are events that
// cannot be read.
func Follow(ctx context.Context, beaconURL string, log *slog.Logger, handle func(Attributes)) error {
	FollowTopic(ctx, beaconURL, "payload_attributes", log, func(data []byte) error {
		a, err := eth.ParsePayloadAttributes(data)
		if err == nil {
			handle(a)
		}
		return err
	})
	return nil
}

// FollowTopic calls handle with the events of a topic, as Follow does with attributes, until the
// context ends.
func FollowTopic(ctx context.Context, beaconURL, topic string, log *slog.Logger, handle func([]byte) error) {
	for ctx.Err() == nil {
		if err := stream(ctx, beaconURL, topic, log, handle); err != nil && ctx.Err() == nil {
			log.Warn("beacon node's events ended", "topic", topic, "error", err)
		}
		_ = run.Pause(ctx, retryAfter) // the loop checks the context
	}
}

func stream(ctx context.Context, beaconURL, topic string, log *slog.Logger, handle func([]byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, beaconURL+"/eth/v1/events?topics="+topic, http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("follow events: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("follow events: status %d", response.StatusCode)
	}
	for events := sse.NewReader(response.Body, maxEvent); ; {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow events: %w", err)
		}
		if err := handle(event.Data); err != nil { // no other topic was subscribed to
			log.Warn("an event is passed over", "topic", topic, "error", err)
		}
	}
}
