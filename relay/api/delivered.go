package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/relay"
)

// maxDelivered is the largest and the default number of rows.
const maxDelivered = 200

// deliveredTrace is an item of the list. Its value is the one that the proposer signed for.
// value_paid, which relay-specs do not have, is the least that the block pays, as executions have
// found; it is left out until one has.
type deliveredTrace struct {
	trace
	ValuePaid string `json:"value_paid,omitempty"`
}

func (deliveredTrace) columns() []string { return append(trace{}.columns(), "value_paid") }

func (t deliveredTrace) cells() []string { return append(t.trace.cells(), t.ValuePaid) }

// delivered lists payloads that were published, newest slot first (relay-specs,
// proposer_payload_delivered).
func (a *dataHandlers) delivered(w http.ResponseWriter, r *http.Request, media string) {
	q := newReader(r)
	if q.values.Get("slot") != "" && q.values.Get("cursor") != "" {
		q.refuse(relay.ArgumentConflict.With("cannot specify both slot and cursor"))
	}
	query := relay.TraceQuery{
		Slot: q.slot("slot"), Cursor: q.slot("cursor"), BlockHash: q.hash("block_hash"),
		BlockNumber: q.number("block_number"),
		Proposer:    q.pubkey("proposer_pubkey"), Builder: q.pubkey("builder_pubkey"), Limit: q.limit(maxDelivered),
		Order: q.order(),
	}
	if q.refused != nil {
		Refuse(w, r, q.refused)
		return
	}
	rows, err := a.Archive.Delivered(r.Context(), query)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	list := make([]deliveredTrace, len(rows))
	for i, row := range rows {
		list[i] = deliveredTrace{trace: traceOf(row.Trace)}
		if row.PaidWei != nil {
			list[i].ValuePaid = row.PaidWei.Dec()
		}
	}
	answerList(w, r, media, list)
}
