package dataset

import (
	"errors"
	"fmt"
	"slices"
)

// Request is what somebody asked a relay for on the way of a proposer's block: a header or a
// payload, by both clocks where both are known.
type Request struct {
	Slot                           Int
	SlotStart                      Time
	SentAt, ReceivedAt, ObservedAt Time
	Source, Kind, Relay            Text
	Proposer                       Key
	Outcome, Refusal               Text
	BlockHash                      Hash
	Builder                        Key
	ValueWei                       Wei
	Times                          Int
}

// Kinds of requests.
const (
	// HeaderRequest is a getHeader, or from gloas on the request for a bid.
	HeaderRequest Text = "header"
	// PayloadRequest hands over the signed block.
	PayloadRequest Text = "payload"
)

// Outcomes of requests.
const (
	// Served: a header or payload was the answer.
	Served Text = "served"
	// NoBid: the relay had no header to offer.
	NoBid Text = "none"
	// Refused: the answer was an error.
	Refused Text = "refused"
	// Failed: the client got no answer.
	Failed Text = "failed"
)

var outcomesOfRequests = []Text{Served, NoBid, Refused, Failed}

// Requests is the table of requests of proposers.
var Requests = &Table[Request]{
	Name: "requests",
	Doc: "Requests of proposers for headers and payloads, as the relay or the proposer tells it: the same request by " +
		"both is two rows, one with `sent_at` and one with `received_at`. A replay does not read them.",
	Seen:  func(r *Request) *Time { return &r.ObservedAt },
	Relay: func(r *Request) *Text { return &r.Relay },
	check: (*Request).check,
	At:    func(_ Network, r *Request) int64 { return r.SlotStart.Micros },
	Columns: []Column[Request]{
		{"slot", "slot", "the slot that is asked for", func(r *Request) any { return &r.Slot }},
		{"slot_start", "UTC", "when that slot begins", func(r *Request) any { return &r.SlotStart }},
		{"sent_at", "UTC, proposer's clock", "when the request was sent", func(r *Request) any { return &r.SentAt }},
		{"received_at", "UTC, relay's clock", "when the relay received it", func(r *Request) any { return &r.ReceivedAt }},
		{"observed_at", "UTC, collector's clock", "when a collector first saw it",
			func(r *Request) any { return &r.ObservedAt }},
		{"source", "", "the format that the row is from", func(r *Request) any { return &r.Source }},
		{"kind", "", "`header` or `payload`", func(r *Request) any { return &r.Kind }},
		{"relay", "", "the relay's name or host", func(r *Request) any { return &r.Relay }},
		{"proposer_pubkey", "0x, 48 bytes", "", func(r *Request) any { return &r.Proposer }},
		{"outcome", "", "`served`, `none` (no header to offer), `refused`, or `failed` (no answer)",
			func(r *Request) any { return &r.Outcome }},
		{"refusal", "", "the relay's refusal, if it refused", func(r *Request) any { return &r.Refusal }},
		{"block_hash", "0x, 32 bytes", "the block that was served or asked for",
			func(r *Request) any { return &r.BlockHash }},
		{"builder_pubkey", "0x, 48 bytes", "whose block that is", func(r *Request) any { return &r.Builder }},
		{"value_wei", "wei", "what the header promised", func(r *Request) any { return &r.ValueWei }},
		{"times", "requests", "how many equal requests the row stands for; they came from `received_at` on",
			func(r *Request) any { return &r.Times }},
	},
}

// check completes a row and says why it cannot be one.
func (r *Request) check(n Network) error {
	if err := checkSlot(r.Slot); err != nil {
		return err
	}
	switch {
	case r.Kind != HeaderRequest && r.Kind != PayloadRequest:
		return fmt.Errorf("kind %q is neither header nor payload", cut(string(r.Kind)))
	case !slices.Contains(outcomesOfRequests, r.Outcome):
		return fmt.Errorf("outcome %q is none of %q", cut(string(r.Outcome)), outcomesOfRequests)
	case !r.SentAt.Known && !r.ReceivedAt.Known:
		return errNoMoment
	}
	r.SlotStart = Time{n.startMicros(r.Slot.V), true}
	return errors.Join(n.checkTime("sent_at", r.Slot.V, r.SentAt), n.checkTime("received_at", r.Slot.V, r.ReceivedAt))
}

var errNoMoment = errors.New("no time")
