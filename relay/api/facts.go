package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// FactLog is the relay's journal.
type FactLog interface {
	// WriteFacts writes the relay's facts with a number above after that are there now, a line of JSON
	// for each message of the journal, in order. It returns an error of the journal or of the writer.
	WriteFacts(ctx context.Context, after uint64, out io.Writer) error
}

// facts answers with the relay's facts, for exports and research. `after` goes on where an earlier
// answer ended. An answer that cannot be ended is cut off, so that nobody takes it for whole.
func (a *adminHandlers) facts(w http.ResponseWriter, r *http.Request) {
	q := newReader(r)
	after := q.number("after")
	if q.refused != nil {
		Refuse(w, r, q.refused)
		return
	}
	if after == nil {
		after = new(uint64)
	}
	out := &begun{to: w}
	w.Header().Set("Content-Type", "application/x-ndjson")
	err := a.Facts.WriteFacts(r.Context(), *after, out)
	switch {
	case err == nil && !out.began: // there are none: an answer all the same
		w.WriteHeader(http.StatusOK)
	case err != nil && !out.began:
		Refuse(w, r, fmt.Errorf("read the journal: %w", err))
	case err != nil:
		panic(http.ErrAbortHandler)
	}
}

// begun remembers whether anything was written.
type begun struct {
	to    io.Writer
	began bool
}

// Write implements io.Writer.
func (b *begun) Write(text []byte) (int, error) {
	b.began = true
	return b.to.Write(text)
}
