package timeline

import "fmt"

// Fact is something that happened in a run. Names are those of participants.
type Fact struct {
	// Slot is the slot that the fact is about. SlotMs is chain time in milliseconds since that slot
	// began, negative before it.
	Slot   int
	SlotMs int64
	// Actor is who tells it, Subject what it is: a subject of the relay's or the bundle RPC's journal,
	// of an agent's events or of the lab.
	Actor, Subject string
	// About is whom it is about, At the service that was used, ID a refusal, an outcome or a fault.
	About, At, ID string
	// Counts says that a submission is a bid from now on.
	Counts bool
	// ValueWei is a decimal number; empty for none.
	ValueWei string
	Fork     string
	// Note is what else the overview says of a slot.
	Note string
	// Text is the fact as its actor wrote it.
	Text string
}

// Subjects that are drawn in a way of their own.
const (
	submissionJudged = "submission_judged"
	topChanged       = "top_changed"
	// SlotFinished says how a slot ended: ID is the outcome, About the block's builder.
	SlotFinished = "slot_finished"
	faultBegan   = "fault_began"
	faultEnded   = "fault_ended"
)

// Votes says what became of a payload from gloas on: whether the chain has it, and how many of the
// payload timeliness committee have seen it in time.
func Votes(full bool, votes, members int) string {
	status := "EMPTY"
	if full {
		status = "FULL"
	}
	return fmt.Sprintf("%s %d/%d", status, votes, members)
}

// lane is a row of a slot's picture.
type lane int

// The lanes, from above.
const (
	laneOrders lane = iota
	laneHints
	laneBids
	laneHeader
	lanePayload
	laneChain
	laneLab
	// laneNone is for facts that are listed and not drawn.
	laneNone
	lanes
)

var laneNames = [...]string{"orders", "hints", "bids", "header", "payload", "chain", "events", ""}

// laneOf says where subjects are drawn; what is not here is only listed.
var laneOf = map[string]lane{
	"order_accepted": laneOrders, "order_extended": laneOrders, "order_cancelled": laneOrders,
	"cancel_noted": laneOrders,
	"order_shared": laneHints, "hint_seen": laneHints, "hint_heard": laneHints, "hint_repeated": laneHints,
	submissionJudged: laneBids, topChanged: laneBids, "bid_cancelled": laneBids,
	"header_served": laneHeader, "header_received": laneHeader, "no_header": laneHeader,
	"payload_delivered": lanePayload, "payload_received": lanePayload, "block_taken": lanePayload,
	"payload_refused": lanePayload, "payload_withheld": lanePayload,
	"order_ended":         laneChain,
	"bundle_landed":       laneChain,
	"backrun_landed":      laneChain,
	"refund_credited":     laneChain,
	"refund_paid":         laneChain,
	"known_block_refused": laneChain, "monitor_finding": laneChain, "private_transaction_landed": laneChain,
	SlotFinished:      laneChain,
	"builder_demoted": laneLab, "breaker_opened": laneLab, "listener_left": laneLab, "request_refused": laneLab,
	"request_failed": laneLab, "service_stopped": laneLab, "service_started": laneLab, "service_paused": laneLab,
	"service_resumed": laneLab, faultBegan: laneLab, faultEnded: laneLab,
}

func (f *Fact) lane() lane {
	if l, drawn := laneOf[f.Subject]; drawn {
		return l
	}
	return laneNone
}

// isBad says whether a fact tells of something that failed.
func (f *Fact) isBad() bool {
	switch f.Subject {
	case "payload_refused", "payload_withheld", "builder_demoted", "breaker_opened", "monitor_finding", "request_refused",
		"request_failed", "service_stopped", "listener_left", faultBegan:
		return true
	case submissionJudged:
		return f.ID != ""
	case SlotFinished:
		return f.ID != "landed" && f.ID != "local"
	}
	return false
}
