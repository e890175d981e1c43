package history

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/gavel-relay/gavel/stream"
)

// errUnknown says that the database has not answered yet.
var errUnknown = fmt.Errorf("the history is not read yet: %w", stream.HistoryUnavailable.Plain())

// Info is what the history has. It is answered from memory, and fails only until the database has
// answered for the first time.
func (h *History) Info() (stream.Info, error) {
	known := h.known.Load()
	if known == nil {
		return stream.Info{}, errUnknown
	}
	return known.info, nil
}

// Page returns the events that a query asks for, ascending by id; never nil. New events have higher
// ids, so they do not shift later pages: with a growing offset every event comes once, as long as
// none is deleted.
func (h *History) Page(ctx context.Context, q stream.Query) ([]stream.Event, error) {
	known := h.known.Load()
	if known == nil {
		return nil, errUnknown
	}
	page := []stream.Event{}
	skip := q.Offset
	for c := range known.all {
		left := q.Limit - len(page)
		if left <= 0 {
			break
		}
		count, err := h.count(ctx, known, q, c, skip)
		if err != nil {
			return nil, failure("count events", err)
		}
		if count <= skip {
			skip -= count
			continue
		}
		events, err := h.list(ctx, within+` ORDER BY id LIMIT ? OFFSET ?`, append(bounds(known, q, c), left, skip)...)
		if err != nil {
			return nil, failure("list events", err)
		}
		page, skip = append(page, events...), 0
	}
	return page, nil
}

// After returns the events after an id, ascending. It returns at most limit events, and fewer only
// if there are no more.
func (h *History) After(ctx context.Context, id uint64, limit int) ([]stream.Event, error) {
	known := h.known.Load()
	if known == nil {
		return nil, errUnknown
	}
	if id >= uint64(known.last) {
		return nil, nil
	}
	events, err := h.list(ctx, `id > ? AND id <= ? ORDER BY id LIMIT ?`, int64(id), known.last, max(limit, 0))
	if err != nil {
		return nil, failure("list events", err)
	}
	return events, nil
}

// within is the condition for a chunk's events that a query asks for; bounds are its arguments.
const within = `id >= ? AND id <= ? AND block >= ? AND block <= ? AND at_s >= ? AND at_s <= ?`

func bounds(known *summary, q stream.Query, c chunk) []any {
	return []any{c.first(), min(c.last(), known.last), q.Blocks.From, q.Blocks.To, q.Times.From, q.Times.To}
}

// count is how many events of a chunk a query asks for. If skip is 0 the exact number does not
// matter; then count does not ask the database, and returns the chunk's number for a chunk that may
// have some.
func (h *History) count(ctx context.Context, known *summary, q stream.Query, c chunk,
	skip int64) (count int64, err error) {
	switch asked(q, c) {
	case none:
		return 0, nil
	case whole:
		return c.events, nil
	}
	if skip == 0 {
		return c.events, nil
	}
	err = h.projection.QueryRow(ctx, `SELECT count(*) FROM events WHERE `+within, bounds(known, q, c)...).Scan(&count)
	return count, err
}

// list reads events. condition must be a constant, never a client's text.
func (h *History) list(ctx context.Context, condition string, args ...any) (events []stream.Event, err error) {
	err = h.projection.Each(ctx, func(rows *sql.Rows) error {
		var id, block, sec int64
		var line []byte
		if err := rows.Scan(&id, &block, &sec, &line); err != nil {
			return err
		}
		events = append(events, stream.Event{ID: uint64(id), Block: uint64(block), At: time.Unix(sec, 0).UTC(), JSON: line})
		return nil
	}, `SELECT id, block, at_s, json FROM events WHERE `+condition, args...)
	return events, err
}
