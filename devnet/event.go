package devnet

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// Names of the participants of which there is only one.
const (
	// BeaconName is the beacon node, ProposersName all validators with their sidecar, PayerName the
	// agent that pays delayed refunds, RPCName the bundle RPC and StreamName the event stream.
	BeaconName    = "beacon"
	ProposersName = "proposers"
	PayerName     = "payer"
	RPCName       = "rpc"
	StreamName    = "stream"
)

// Event is something that an agent met and reports to its lab.
type Event struct {
	// Actor is the agent's name, At the name of the service that it used.
	Actor, At string
	// Subject is one of the names below.
	Subject string
	// Slot is the slot that the event is about; 0 means the current one.
	Slot int
	// Status and Refusal describe the HTTP answer of RequestRefused: Refusal is the id in the
	// X-Refusal header, empty if there is none.
	Status  int
	Refusal string
	// ValueWei is a decimal number; it is empty for events without a value.
	ValueWei string
	// Fact is what the agent itself knows of it: a RelayRequest, a MadeBid, or nil.
	Fact any
}

// RelayRequest is a proposer's request to a relay. Facts are JSON on disk: a field may be added,
// never renamed.
type RelayRequest struct {
	// Kind is HeaderRequest or PayloadRequest.
	Kind string      `json:"kind"`
	Slot phase0.Slot `json:"slot"`
	// SentAt is when it was sent, by the proposer's clock.
	SentAt time.Time `json:"sent_at"`
	// Proposer is who asks for a header.
	Proposer phase0.BLSPubKey `json:"proposer_pubkey,omitzero"`
	// BlockHash is the payload's hash in the header that was served, or whose payload is asked for.
	// ValueWei is what that header promises.
	BlockHash phase0.Hash32 `json:"block_hash,omitzero"`
	ValueWei  *uint256.Int  `json:"value,omitempty"`
}

// Kinds of requests of proposers to relays.
const (
	HeaderRequest  = "header"
	PayloadRequest = "payload"
)

// MadeBid is a bid that a builder has made. Facts are JSON on disk: a field may be added, never
// renamed.
type MadeBid struct {
	BlockHash phase0.Hash32    `json:"block_hash"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	ValueWei  *uint256.Int     `json:"value"`
	// WorthWei is what the block earns the builder before it pays the proposer.
	WorthWei *uint256.Int `json:"worth"`
}

// Subjects of events.
const (
	// RequestRefused: a service answered with an error; RequestFailed: there was no answer.
	RequestRefused = "request_refused"
	RequestFailed  = "request_failed"
	// BidMade comes from a builder, before it sends a bid to relays. Its fact is a MadeBid.
	BidMade = "bid_made"
	// BidCancelled comes from a builder: it replaces one of its bids by a lower one.
	BidCancelled = "bid_cancelled"
	// TopHeard comes from a builder: a relay's stream told it of a new leading bid.
	TopHeard = "top_heard"
	// ListenerLeft: a stream of leading bids or of hints ended although the agent wanted to go on
	// reading.
	ListenerLeft = "listener_left"
	// RegistrationSent comes from a proposer: a relay accepted a batch of registrations.
	// HeaderReceived: a relay answered with a bid. NoHeader: it answered that it has none.
	// PayloadReceived: a relay's answer contained the payload. BlockTaken: it has taken the signed
	// block, and its answer has no payload. Facts of these, and of refused and failed requests for
	// headers and payloads, are a RelayRequest.
	RegistrationSent = "registration_sent"
	HeaderReceived   = "header_received"
	NoHeader         = "no_header"
	PayloadReceived  = "payload_received"
	BlockTaken       = "block_taken"
	// HintHeard comes from a searcher: the stream told it of an order for the first time.
	// HintRepeated: the stream told it of the same order again. HistoryKept: after its stream
	// broke, the history contained all hints that the searcher had ever heard.
	HintHeard    = "hint_heard"
	HintRepeated = "hint_repeated"
	HistoryKept  = "history_kept"
	// RefundListed comes from a payer: the bundle RPC listed a delayed refund for the first time.
	// RefundReceived: the bundle RPC says that the refund was received. BooksRight: the numbers of
	// the bundle RPC agree with each other and with the chain.
	RefundListed   = "refund_listed"
	RefundReceived = "refund_received"
	BooksRight     = "books_right"
)
