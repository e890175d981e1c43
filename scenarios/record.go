package scenarios

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
)

// Record is one fact of a run, a line of facts.ndjson. The fields that expectations look at have
// names of participants instead of keys. Fact is what the actor itself wrote, for example the entry
// of its journal.
type Record struct {
	Seq int `json:"seq"`
	// Slot is the slot that the record is about. SlotMs is chain time in milliseconds since that
	// slot began, negative before it.
	Slot   int   `json:"slot"`
	SlotMs int64 `json:"slot_ms"`
	// WallNs is wall time since the run began, in nanoseconds.
	WallNs  int64  `json:"wall_ns"`
	Actor   string `json:"actor"`
	Subject string `json:"subject"`
	// About is the participant that the record is about, if that is not the actor: a bid's builder,
	// a refund's user.
	About string `json:"about,omitempty"`
	// At is the relay or service that an agent used.
	At string `json:"at,omitempty"`
	// ID is a refusal's id, a slot's outcome, or a class of faults.
	ID string `json:"id,omitempty"`
	// Because is why a slot is EMPTY, one of Causes.
	Because string `json:"because,omitempty"`
	// Counts says that a submission takes part in the auction from now on as a bid. It is false if
	// the submission was refused, or was kept although it is too low to lead.
	Counts bool `json:"counts,omitempty"`
	// ValueWei is a decimal number.
	ValueWei string          `json:"value_wei,omitempty"`
	Percent  float64         `json:"percent,omitempty"`
	Fork     string          `json:"fork,omitempty"`
	Fact     json.RawMessage `json:"fact,omitempty"`
}

// Subjects of records that expectations look at. Those of agents are the subjects of their events
// (package devnet); those of the relay are the subjects of its journal.
const (
	SubmissionJudged   = "submission_judged"
	HeaderServed       = "header_served"
	PayloadDelivered   = "payload_delivered"
	PayloadRefused     = "payload_refused"
	BuilderDemoted     = "builder_demoted"
	RegistrationStored = "registration_stored"
	// RegistrationSent comes from a proposer: a relay accepted a batch of registrations.
	RegistrationSent = devnet.RegistrationSent
	// SlotFinished says what the chain has for a slot; its ID is an outcome.
	SlotFinished = "slot_finished"
	// RequestRefused comes from an agent: a service answered with an error. Its ID is the refusal's
	// id, or "http-STATUS".
	RequestRefused = devnet.RequestRefused
	// RequestFailed comes from an agent: there was no answer.
	RequestFailed = devnet.RequestFailed
	// PayloadReceived comes from a proposer: the relay's answer contained the payload.
	PayloadReceived = devnet.PayloadReceived
	HeaderReceived  = devnet.HeaderReceived
	// NoHeader comes from a proposer: a relay has none for it. BlockTaken: a relay has taken the
	// signed block.
	NoHeader   = devnet.NoHeader
	BlockTaken = devnet.BlockTaken
	// BidMade comes from a builder, before it sends the bid.
	BidMade      = devnet.BidMade
	BidCancelled = devnet.BidCancelled
	// TopChanged comes from a relay: another bid leads. TopHeard comes from an agent that heard of
	// it.
	TopChanged = "top_changed"
	TopHeard   = devnet.TopHeard
	// ListenerLeft comes from an agent: its stream of leading bids or of hints ended although it
	// wanted to go on reading.
	ListenerLeft  = devnet.ListenerLeft
	BreakerOpened = "breaker_opened"
	// PayloadWithheld comes from a relay: it has taken a block and does not reveal the payload. Its ID
	// is the reason.
	PayloadWithheld = "payload_withheld"
	// StakePaid says that a payload on the chain pays a proposer from a builder's stake. LedgerClosed
	// compares at the end what was promised from stakes with what was paid and is owed; its ID is
	// LedgerRight or LedgerWrong.
	StakePaid    = "stake_paid"
	LedgerClosed = "ledger_closed"
	// KnownRefused comes from the beacon node: it refused a block that it has already.
	KnownRefused   = "known_block_refused"
	MonitorFinding = "monitor_finding"
	ServiceStopped = "service_stopped"
	ServiceStarted = "service_started"
	// ServicePaused and ServiceResumed: a process was stopped with SIGSTOP, and continued.
	ServicePaused  = "service_paused"
	ServiceResumed = "service_resumed"
	FaultBegan     = "fault_began"
	FaultEnded     = "fault_ended"
	RefundCredited = "refund_credited"
	BundleLanded   = "bundle_landed"
	RefundPaid     = "refund_paid"
	HintSeen       = "hint_seen"
	// HintHeard comes from a searcher: the stream told it of an order for the first time.
	// HintRepeated: the stream told it of the same order again. HistoryKept: after its stream
	// broke, the history contained all hints that the searcher had ever heard.
	HintHeard    = devnet.HintHeard
	HintRepeated = devnet.HintRepeated
	HistoryKept  = devnet.HistoryKept
	// RefundListed comes from the payer: the bundle RPC listed a delayed refund for the first time.
	// RefundReceived: the bundle RPC says that the refund was received. BooksRight: the numbers of
	// the bundle RPC agree with each other and with the chain.
	RefundListed   = devnet.RefundListed
	RefundReceived = devnet.RefundReceived
	BooksRight     = devnet.BooksRight
	// What follows comes from the bundle RPC.
	OrderAccepted  = "order_accepted"
	OrderSimulated = "order_simulated"
	OrderSent      = "order_sent"
	OrderEnded     = "order_ended"
	OrderReturned  = "order_returned"
	BlockReverted  = "block_reverted"
	BackrunLanded  = "backrun_landed"
	PrivateLanded  = "private_transaction_landed"
	OrderCancelled = "order_cancelled"
)

// ChainBlock is what a fact of a finished slot says of the block on the chain. A field may be
// added, never renamed; facts of earlier versions lack all but the hash and the number of
// transactions.
type ChainBlock struct {
	// BlockHash is the payload's, or from gloas on without the payload that of the bid.
	BlockHash  phase0.Hash32 `json:"block_hash"`
	ParentHash phase0.Hash32 `json:"parent_hash,omitzero"`
	Number     uint64        `json:"block_number,omitempty"`
	GasUsed    uint64        `json:"gas_used,omitempty"`
	Txs        int           `json:"txs"`
	// ProposerKey is that of the slot's duty, also if the chain has no block. BuilderKey is whose
	// payload a relay has delivered, Relay the one that did so first.
	ProposerKey phase0.BLSPubKey `json:"proposer_pubkey,omitzero"`
	BuilderKey  phase0.BLSPubKey `json:"builder_pubkey,omitzero"`
	Relay       string           `json:"relay,omitempty"`
	// PaidWei is what the block's transactions pay the proposer: by how much the balance of its fee
	// recipient grew, without withdrawals. It is nil if another block pays a part of what was
	// promised, as for a bid from a stake.
	PaidWei *uint256.Int `json:"paid,omitempty"`
}

// Outcomes of a slot.
const (
	Landed   = "landed"   // the block of a relay, or of a builder with stake, is on the chain
	Local    = "local"    // the block of the proposer's own node is on the chain
	Missed   = "missed"   // the chain has no block
	Orphaned = "orphaned" // a block was delivered, but is not on the chain
	Empty    = "empty"    // the block is on the chain, but not its payload (from gloas on)
)

// Why a slot is EMPTY.
const (
	Withheld = "withheld"
	Unseen   = "unseen"
	NoBlobs  = "no-blobs"
)

// What LedgerClosed says.
const (
	LedgerRight = "right"
	LedgerWrong = "wrong"
)

// maxRecord bounds a line of facts in bytes.
const maxRecord = 16 << 20

// ReadRecords reads facts.ndjson.
func ReadRecords(from io.Reader) ([]Record, error) {
	var all []Record
	if err := EachRecord(from, func(one Record) { all = append(all, one) }); err != nil {
		return nil, err
	}
	return all, nil
}

// EachRecord reads facts.ndjson line by line. Of a file that is broken it hands over the facts
// before the broken line.
func EachRecord(from io.Reader, handle func(Record)) error {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, maxRecord)
	read := 0
	for scanner.Scan() {
		var one Record
		read++
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return fmt.Errorf("read fact %d: %w", read, err)
		}
		handle(one)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	return nil
}
