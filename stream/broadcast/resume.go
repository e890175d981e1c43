package broadcast

import (
	"context"
	"fmt"

	"github.com/gavel-relay/gavel/stream"
)

// reader reads past events for one listener, page by page, and adds it to the others at the end. A
// listener joins only when it has nearly caught up, so that it is not behind in the list while it
// reads.
//
//	page ─▶ page ─▶ a short page: join, remember the last event that was published before ─▶ page, up to that event ─▶ live
//
// Reading begins with the listener's last event. If the history has not reached that id, it was
// begun anew since, and it is unknown which of its events the listener has. Then the listener gets
// new events only. But an id that another instance can have given (Config.Newest) is one that the
// history will reach, and what comes before it is not sent again.
type reader struct {
	had   uint64 // id of the listener's last event
	from  uint64 // id up to which the history was read
	held  []byte // framed events that are not taken yet
	count int    // number of events in held
	// joined says that the listener is in the list. until is the id of the last event before it
	// joined.
	joined bool
	until  uint64
	done   bool // held has the last past events
}

func newReader(had uint64) *reader { return &reader{had: had, from: max(had, 1) - 1} }

// take returns held, or else the next page.
func (r *reader) take(l *Listener) ([]byte, error) {
	if r.held == nil && !r.done {
		if err := r.turn(l); err != nil {
			return nil, err
		}
	}
	frames := r.held
	l.broadcast.delivered.Add(uint64(r.count))
	r.held, r.count = nil, 0
	if r.done {
		l.past = nil
	}
	return frames, nil
}

// turn reads the next page, and joins when it is a short one.
func (r *reader) turn(l *Listener) error {
	events, err := r.page(l.ctx, l.broadcast)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", stream.NotReady.Plain(), ErrHistory, err)
	}
	for _, event := range events {
		r.from, l.sent = event.ID, max(l.sent, event.ID)
		if event.ID > r.had && check(event, l.broadcast.config.MaxEventBytes) == nil {
			r.held, r.count = appendFrame(r.held, event, true), r.count+1
		}
	}
	short := len(events) < pageEvents
	switch {
	case r.joined:
		r.done = short || r.reached()
	case short:
		r.joined, r.until = true, l.broadcast.join(l)
		r.done = r.reached()
	}
	return nil
}

// reached says that the history is read up to the event at which the listener joined. If nothing
// was published since the start, that event is unknown.
func (r *reader) reached() bool { return r.until > 0 && r.from >= r.until }

// page reads a page. Only a few listeners read at a time, so that many listeners that reconnect
// after a restart do not overload the history.
func (r *reader) page(ctx context.Context, b *Broadcast) ([]stream.Event, error) {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return b.config.History.After(ctx, r.from, pageEvents)
}
