package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// maxReceived is the largest and the default number of rows.
const maxReceived = 500

// receivedTrace is an item of the list (relay-specs, BidTraceV2WithTimestamp, and the deployed
// optimistic_submission).
type receivedTrace struct {
	trace
	Timestamp            string `json:"timestamp"`    // seconds
	TimestampMs          string `json:"timestamp_ms"` // milliseconds
	OptimisticSubmission bool   `json:"optimistic_submission"`
}

func (receivedTrace) columns() []string {
	return append(trace{}.columns(), "timestamp", "timestamp_ms", "optimistic_submission")
}

func (t receivedTrace) cells() []string {
	return append(t.trace.cells(), t.Timestamp, t.TimestampMs, strconv.FormatBool(t.OptimisticSubmission))
}

// received lists submissions that counted, newest slot first (relay-specs,
// builder_blocks_received). At least one filter is needed, since the whole list is long. The limit
// applies in any case.
func (a *dataHandlers) received(w http.ResponseWriter, r *http.Request, media string) {
	q := newReader(r)
	if q.values.Get("cursor") != "" {
		q.refuse(relay.InvalidArgument.With("cursor argument not supported"))
	}
	query := relay.TraceQuery{
		Slot: q.slot("slot"), BlockHash: q.hash("block_hash"), BlockNumber: q.number("block_number"),
		Builder: q.pubkey("builder_pubkey"),
	}
	if query.Slot == nil && query.BlockHash == nil && query.BlockNumber == nil && query.Builder == nil {
		q.refuse(relay.ArgumentMissing.With(
			"need to query for specific slot or block_hash or block_number or builder_pubkey"))
	}
	query.Limit = q.limit(maxReceived)
	if q.refused != nil {
		Refuse(w, r, q.refused)
		return
	}
	raw, err := a.receivedList(r, query, media)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	serve.Bytes(w, http.StatusOK, media, raw)
}

// receivedList returns an encoded answer. The answer to a question about a slot is kept until the
// slot's rows change. Then the new rows are read and put before it, once for all requests that wait
// at that time.
func (a *dataHandlers) receivedList(r *http.Request, query relay.TraceQuery, media string) ([]byte, error) {
	if query.Slot == nil {
		list, err := a.listReceived(r.Context(), query, media)
		return list.raw, err
	}
	// read before the rows: rows that come in between will have another mark
	mark, err := a.Archive.ReceivedMark(r.Context(), *query.Slot)
	if err != nil {
		return nil, err
	}
	asked := question{r.URL.RawQuery, media}
	if list, of, found := a.receivedAnswers.find(asked); found && of == mark {
		return list.raw, nil
	}
	shared := fmt.Sprint(mark, " ", media, " ", r.URL.RawQuery)
	raw, err, _ := a.receivedReads.Do(shared, func() (any, error) {
		// Other requests wait for this read too, so it does not end when the first client goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readPatience)
		defer cancel()
		list, err := a.renewReceived(ctx, query, asked, mark)
		return list.raw, err
	})
	if err != nil {
		return nil, err
	}
	return raw.([]byte), nil
}

// readPatience bounds a read that several requests wait for (wall time).
const readPatience = 10 * time.Second

// renewReceived makes the list of a slot whose rows have changed since an answer was kept, and
// keeps it.
func (a *dataHandlers) renewReceived(ctx context.Context, query relay.TraceQuery, asked question,
	mark relay.Mark) (list page, err error) {
	list, of, found := a.receivedAnswers.find(asked)
	whole := false
	if found {
		if list, whole, err = a.growReceived(ctx, query, asked.media, list, of, mark); err != nil {
			return page{}, err
		}
	}
	if !whole {
		if list, err = a.listReceived(ctx, query, asked.media); err != nil {
			return page{}, err
		}
	}
	a.receivedAnswers.keep(asked, mark, list)
	return list, nil
}

// growReceived puts the rows that have come since before a kept list of a slot. It returns false if
// they are too many, or if rows may also be gone; then the list must be read anew.
func (a *dataHandlers) growReceived(ctx context.Context, query relay.TraceQuery, media string, list page, before,
	now relay.Mark) (page, bool, error) {
	came := now.Rows - before.Rows
	if came <= 0 || came > maxReceived || now.Newest <= before.Newest {
		return page{}, false, nil
	}
	rows, err := a.Archive.Received(ctx, relay.TraceQuery{
		Slot: query.Slot, After: before.Newest, UpTo: now.Newest, Limit: int(came) + 1,
	})
	if err != nil || int64(len(rows)) != came {
		return page{}, false, err
	}
	rows = slices.DeleteFunc(rows, func(row relay.ReceivedTrace) bool { return !asksFor(query, row.Trace) })
	newer, err := encodeReceived(media, rows)
	return newer.before(list, query.Limit, frameOf[receivedTrace](media)), err == nil, err
}

// asksFor says whether a query asks for a row of its slot.
func asksFor(query relay.TraceQuery, row relay.Trace) bool {
	return (query.BlockHash == nil || *query.BlockHash == row.BlockHash) &&
		(query.BlockNumber == nil || *query.BlockNumber == row.BlockNumber) &&
		(query.Builder == nil || *query.Builder == row.Builder)
}

func (a *dataHandlers) listReceived(ctx context.Context, query relay.TraceQuery, media string) (page, error) {
	rows, err := a.Archive.Received(ctx, query)
	if err != nil {
		return page{}, err
	}
	return encodeReceived(media, rows)
}

func encodeReceived(media string, rows []relay.ReceivedTrace) (page, error) {
	list := make([]receivedTrace, len(rows))
	for i, row := range rows {
		list[i] = receivedTrace{
			trace: traceOf(row.Trace), Timestamp: strconv.FormatInt(row.ReceivedAt.Unix(), 10),
			TimestampMs: strconv.FormatInt(row.ReceivedAt.UnixMilli(), 10), OptimisticSubmission: row.Optimistic,
		}
	}
	return encodeList(media, list)
}
