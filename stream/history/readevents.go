package history

import (
	"context"
	"database/sql"
	"math"

	"github.com/gavel-relay/gavel/stream"
)

// readAtOnce is how many new events are read, held and published at a time.
const readAtOnce = 512

// readEvents reads new events from the database and publishes them. The first time it only sums up
// what is stored.
func (h *History) readEvents(ctx context.Context) error {
	h.knowing.Lock()
	defer h.knowing.Unlock()
	if h.known.Load() != nil {
		return h.readNew(ctx, math.MaxInt64)
	}
	sum, err := h.summarizeAll(ctx)
	if err != nil {
		return err
	}
	h.published = sum.last
	h.known.Store(&sum)
	return nil
}

// resummarize sums up what is stored again, because this process or another one may have deleted
// events.
func (h *History) resummarize(ctx context.Context) error {
	h.knowing.Lock()
	defer h.knowing.Unlock()
	sum, err := h.summarizeAll(ctx)
	if err != nil {
		return err
	}
	if h.known.Load() == nil {
		h.published = sum.last
	} else if err := h.readNew(ctx, sum.last); err != nil { // events that the new summary includes must be published, too
		return err
	}
	h.known.Store(&sum)
	return nil
}

// readNew adds new events up to an id to known, and publishes them. The caller holds knowing.
func (h *History) readNew(ctx context.Context, upTo int64) error {
	for {
		now := *h.known.Load()
		events, err := h.list(ctx, `id > ? AND id <= ? ORDER BY id LIMIT ?`, now.last, upTo, readAtOnce)
		if err != nil {
			return err
		}
		for _, event := range events {
			now = now.with(int64(event.ID), int64(event.Block), event.At.Unix())
		}
		h.known.Store(&now) // before publishing, so that a listener that gets an event also finds it in the history
		h.publish(events)
		if len(events) < readAtOnce {
			return nil
		}
	}
}

// publish publishes events, except those that were published before: a database that has lost
// events stores them again, with the same ids. The caller holds knowing.
func (h *History) publish(events []stream.Event) {
	for len(events) > 0 && int64(events[0].ID) <= h.published {
		events = events[1:]
	}
	if len(events) == 0 {
		return
	}
	h.published = int64(events[len(events)-1].ID)
	if h.subscriber != nil {
		h.subscriber(events)
	}
}

// summarizeAll reads all chunks in one query, so all are of the same moment.
func (h *History) summarizeAll(ctx context.Context) (summary, error) {
	var last int64
	var chunks []chunk
	err := h.projection.Each(ctx, func(rows *sql.Rows) error {
		var number, events, minBlock, maxBlock, minSec, maxSec sql.NullInt64
		if err := rows.Scan(&last, &number, &events, &minBlock, &maxBlock, &minSec, &maxSec); err != nil {
			return err
		}
		if number.Valid {
			chunks = append(chunks, chunk{
				number: number.Int64, events: events.Int64,
				blocks: stream.Range{From: minBlock.Int64, To: maxBlock.Int64}, times: stream.Range{From: minSec.Int64,
					To: maxSec.Int64},
			})
		}
		return nil
	}, `SELECT last, chunk, events, min_block, max_block, min_at_s, max_at_s FROM counter LEFT JOIN chunks ON 1 = 1 ORDER BY chunk`)
	return summarize(last, chunks), err
}
