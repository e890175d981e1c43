package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Info says what the history has.
type Info struct {
	Count, MinBlock, MaxBlock uint64
	// MinTimestamp and MaxTimestamp are seconds of Unix time.
	MinTimestamp, MaxTimestamp uint64
	// MaxLimit is how many records an answer has at most.
	MaxLimit uint64
}

// Query says which records of the history are wanted. Bounds are inclusive; nil is no bound.
type Query struct {
	BlockStart, BlockEnd *uint64
	// TimestampStart and TimestampEnd are seconds of Unix time.
	TimestampStart, TimestampEnd *uint64
	// Limit is how many records an answer has at most; 0 is the service's maximum. Offset is how
	// many records to skip.
	Limit, Offset uint64
}

// Record is a past event.
type Record struct {
	Block     uint64
	Timestamp uint64
	Hint      Event
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Record) UnmarshalJSON(raw []byte) error {
	var fields struct {
		Block, Timestamp uint64
		Hint             json.RawMessage
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	hint, err := decodeEvent(fields.Hint)
	*r = Record{fields.Block, fields.Timestamp, hint}
	return err
}

// Info asks what the history has.
func (c *Client) Info(ctx context.Context) (info Info, err error) {
	return info, c.read(ctx, "/api/v1/history/info", &info)
}

// History is one page of the history, oldest first.
func (c *Client) History(ctx context.Context, query Query) (records []Record, err error) {
	return records, c.read(ctx, "/api/v1/history?"+query.encode(), &records)
}

// All yields all records that a query asks for, from its offset on, and reads them page by page.
// The query's limit is the size of a page. After an error nothing follows.
func (c *Client) All(ctx context.Context, query Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if query.Limit == 0 {
			info, err := c.Info(ctx)
			if err != nil {
				yield(Record{}, err)
				return
			}
			query.Limit = max(info.MaxLimit, 1)
		}
		for {
			page, err := c.History(ctx, query)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
			}
			if uint64(len(page)) < query.Limit {
				return
			}
			query.Offset += uint64(len(page))
		}
	}
}

// encode is the query in the form of a URL's.
func (q Query) encode() string {
	values := url.Values{}
	for name, bound := range map[string]*uint64{
		"blockStart": q.BlockStart, "blockEnd": q.BlockEnd, "timestampStart": q.TimestampStart,
		"timestampEnd": q.TimestampEnd,
	} {
		if bound != nil {
			values.Set(name, strconv.FormatUint(*bound, 10))
		}
	}
	for name, count := range map[string]uint64{"limit": q.Limit, "offset": q.Offset} {
		if count > 0 {
			values.Set(name, strconv.FormatUint(count, 10))
		}
	}
	return values.Encode()
}

// read requests a path and decodes the JSON of its answer.
func (c *Client) read(ctx context.Context, pathAndQuery string, into any) error {
	response, err := c.get(ctx, pathAndQuery, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, c.options.MaxPageBytes+1))
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	if int64(len(raw)) > c.options.MaxPageBytes {
		return fmt.Errorf("read the history: more than %d bytes", c.options.MaxPageBytes)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode the history: %w", err)
	}
	return nil
}
