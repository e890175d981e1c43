package plan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gavel-relay/gavel/devnet"
)

// Record is one fact of a run: a line of facts.ndjson. What expectations ask for stands in fields
// of its own, with everybody's names instead of keys; Fact is what the actor itself wrote, its
// journal's line if it keeps one.
type Record struct {
	Seq int `json:"seq"`
	// Slot and SlotMs are chain time: the slot that it is about, and the milliseconds since that slot
	// began, negative before it.
	Slot   int   `json:"slot"`
	SlotMs int64 `json:"slot_ms"`
	// WallNs is wall time since the run began.
	WallNs  int64  `json:"wall_ns"`
	Actor   string `json:"actor"`
	Subject string `json:"subject"`
	// About is whom it is about, where that is another than the actor: a bid's builder, a refund's
	// user.
	About string `json:"about,omitempty"`
	// At is the relay or service that an agent met.
	At string `json:"at,omitempty"`
	// ID is a refusal's id, a slot's outcome, or a class of faults.
	ID string `json:"id,omitempty"`
	// Counts: a submission is a bid from now on. One that was refused, or is kept but below what could
	// lead, is none.
	Counts bool `json:"counts,omitempty"`
	// ValueWei is a decimal number.
	ValueWei string          `json:"value_wei,omitempty"`
	Percent  float64         `json:"percent,omitempty"`
	Fork     string          `json:"fork,omitempty"`
	Fact     json.RawMessage `json:"fact,omitempty"`
}

// Subjects of records that expectations look at. Agents' are those of their events (package
// devnet). The relay's are the subjects of its journal.
const (
	SubmissionJudged   = "submission_judged"
	HeaderServed       = "header_served"
	PayloadDelivered   = "payload_delivered"
	PayloadRefused     = "payload_refused"
	BuilderDemoted     = "builder_demoted"
	RegistrationStored = "registration_stored"
	// RegistrationSent is a proposer's: a relay has taken a batch of registrations.
	RegistrationSent = devnet.RegistrationSent
	// SlotFinished is what the chain has for a slot; its ID is an outcome.
	SlotFinished = "slot_finished"
	// RequestRefused is an agent's: a service answered with an error, its ID is the refusal's or
	// "http-STATUS".
	RequestRefused = devnet.RequestRefused
	// RequestFailed is an agent's: there was no answer.
	RequestFailed = devnet.RequestFailed
	// PayloadReceived is a proposer's: the relay's answer contained the payload.
	PayloadReceived = devnet.PayloadReceived
	HeaderReceived  = devnet.HeaderReceived
	BidCancelled    = devnet.BidCancelled
	// TopChanged is a relay's: another bid leads. TopHeard is the agent's who is told.
	TopChanged = "top_changed"
	TopHeard   = devnet.TopHeard
	// ListenerLeft is an agent's: its stream of leading bids, or of hints, ended, which it did not
	// want.
	ListenerLeft   = devnet.ListenerLeft
	BreakerOpened  = "breaker_opened"
	MonitorFinding = "monitor_finding"
	ServiceStopped = "service_stopped"
	ServiceStarted = "service_started"
	// ServicePaused and ServiceResumed: a process stands still, and goes on.
	ServicePaused  = "service_paused"
	ServiceResumed = "service_resumed"
	FaultBegan     = "fault_began"
	FaultEnded     = "fault_ended"
	RefundCredited = "refund_credited"
	BundleLanded   = "bundle_landed"
	RefundPaid     = "refund_paid"
	HintSeen       = "hint_seen"
	// HintHeard is a listener's who is told of an order, HintRepeated of one that it was told of
	// before. HistoryKept is its, too: it came back to the stream, and the history has all that it was
	// ever told.
	HintHeard    = devnet.HintHeard
	HintRepeated = devnet.HintRepeated
	HistoryKept  = devnet.HistoryKept
	// RefundListed is the payer's: the bundle RPC told it for the first time of a delayed refund;
	// RefundReceived: that it was received. BooksRight is its, too: what the bundle RPC tells fits
	// together, and fits the chain.
	RefundListed   = devnet.RefundListed
	RefundReceived = devnet.RefundReceived
	BooksRight     = devnet.BooksRight
	BackrunLanded  = "backrun_landed"
	PrivateLanded  = "private_transaction_landed"
	OrderCancelled = "order_cancelled"
)

// Outcomes of a slot.
const (
	Landed   = "landed"   // a relay's block is on the chain
	Local    = "local"    // the proposer's own is
	Missed   = "missed"   // there is none
	Orphaned = "orphaned" // a block was delivered, but the chain has gone another way
)

// maxRecord bounds a line of facts in bytes.
const maxRecord = 16 << 20

// ReadRecords reads facts.ndjson.
func ReadRecords(from io.Reader) ([]Record, error) {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, maxRecord)
	var all []Record
	for scanner.Scan() {
		var one Record
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("read fact %d: %w", len(all)+1, err)
		}
		all = append(all, one)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	return all, nil
}
