package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/internal/sse"
)

// Events listens until the context ends or the caller breaks off. If the connection breaks, Events
// reconnects and goes on after the last event. Before the first event it has no id to go on after,
// so it misses what is published between two connections. An event that cannot be decoded comes
// with an error and its Raw bytes, and further events follow. If reconnecting is of no use (the
// service refuses the request as wrong, or the context has ended), the last pair has the error and
// no event.
func (c *Client) Events(ctx context.Context) iter.Seq2[Event, error] { return c.EventsAfter(ctx, 0) }

// EventsAfter is Events from the first event after the one with this id; with 0 it begins with new
// events.
func (c *Client) EventsAfter(ctx context.Context, id uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		follower := &follower{client: c, wait: c.options.MinWait}
		if id > 0 {
			follower.last = strconv.FormatUint(id, 10)
		}
		for {
			err := follower.connect(ctx, yield)
			switch {
			case errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				yield(Event{}, context.Cause(ctx))
				return
			case permanent(err):
				yield(Event{}, err)
				return
			}
			if !follower.pause(ctx, err) {
				yield(Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// errEnough says that the caller broke off.
var errEnough = errors.New("caller has enough")

// errSilent ends a connection on which not even a ping came.
var errSilent = errors.New("nothing came for too long")

// follower is the state of one call of Events over all its connections.
type follower struct {
	client *Client
	last   string // id of the last event
	wait   time.Duration
}

// connect listens on one connection; the error says why it ended.
func (f *follower) connect(ctx context.Context, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if f.last != "" {
		header.Set("Last-Event-ID", f.last)
	}
	response, err := f.client.get(ctx, "/?ids=1", header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	silence := sse.NewWatch(f.client.options.Silence, func() { cancel(errSilent) })
	defer silence.Stop()
	messages := sse.NewReader(silence.Reader(response.Body), f.client.options.MaxLineBytes)
	for {
		message, err := messages.Next()
		if err != nil {
			if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
				return cause
			}
			return err
		}
		f.wait = f.client.options.MinWait
		event, err := decodeEvent(message.Data)
		f.last = message.ID
		event.ID, _ = strconv.ParseUint(message.ID, 10, 64) // 0 if there is no id, or one that is no number
		if !yield(event, err) {
			return errEnough
		}
	}
}

// pause waits before the next connection. It returns false if the context ended.
func (f *follower) pause(ctx context.Context, why error) bool {
	wait := f.wait
	var status *StatusError
	if errors.As(why, &status) {
		wait = min(max(wait, status.RetryAfter), f.client.options.MaxWait)
	}
	f.wait = min(2*f.wait, f.client.options.MaxWait)
	if f.client.options.Broken != nil {
		f.client.options.Broken(fmt.Errorf("stream ended: %w", why), wait)
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
