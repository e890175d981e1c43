package broadcast

import (
	"context"
	"fmt"

	"github.com/gavel-relay/gavel/stream"
)

// reader reads the past to one listener, page by page, and joins it to the others at the end. A
// listener that has far to go joins late, so that meanwhile it leaves nothing in the list and is
// not behind.
//
//	page ─▶ page ─▶ a short page: join, remember the last event that was published before ─▶ page, up to that event ─▶ live
//
// It begins with the event that the listener had last. If there is none with such an id yet, the
// history has begun anew since, and nobody knows what the listener has of it: it hears what comes.
type reader struct {
	had   uint64 // the listener's last event
	from  uint64 // what was read already
	held  []byte // framed, not taken yet
	count int    // events that are held
	// joined says that the listener gets what comes, until is the last event that came before.
	joined bool
	until  uint64
	done   bool // what is held is the last of the past
}

func newReader(had uint64) *reader { return &reader{had: had, from: max(had, 1) - 1} }

// take is what is held, or the next page.
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

// turn reads a page, and takes the next step.
func (r *reader) turn(l *Listener) error {
	events, err := r.page(l.ctx, l.broadcast)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", stream.NotReady.Plain(), ErrHistory, err)
	}
	for _, event := range events {
		r.from, l.sent = event.ID, event.ID
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

// reached says that the past is read up to where the others are. When nothing was published since
// the start nobody knows where that is.
func (r *reader) reached() bool { return r.until > 0 && r.from >= r.until }

// page reads. Few do so at a time, so that a crowd that comes back after a restart does not press
// the history.
func (r *reader) page(ctx context.Context, b *Broadcast) ([]stream.Event, error) {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return b.config.History.After(ctx, r.from, pageEvents)
}
