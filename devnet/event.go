package devnet

// Names of everybody who is there once.
const (
	// BeaconName is the beacon node, ProposersName all validators with their sidecar, PayerName who
	// pays delayed refunds, RPCName the bundle RPC and StreamName the event stream.
	BeaconName    = "beacon"
	ProposersName = "proposers"
	PayerName     = "payer"
	RPCName       = "rpc"
	StreamName    = "stream"
)

// Event is something that an agent has met and tells its laboratory of.
type Event struct {
	// Actor is the agent's name, At the name of the service that it met.
	Actor, At string
	// Subject is one of the names below.
	Subject string
	// Slot that it is about; 0 is the one that runs.
	Slot int
	// Status and Refusal are an HTTP answer's, of RequestRefused: Refusal is the id in its X-Refusal
	// header, empty if there is none.
	Status  int
	Refusal string
	// ValueWei is a decimal number, where the event has a value.
	ValueWei string
}

// Subjects of events.
const (
	// RequestRefused: a service answered with an error; RequestFailed: there was no answer.
	RequestRefused = "request_refused"
	RequestFailed  = "request_failed"
	// BidCancelled is a builder's: it puts a lower bid in the place of one that stands.
	BidCancelled = "bid_cancelled"
	// TopHeard is a builder's: a relay has told it of another leading bid.
	TopHeard = "top_heard"
	// ListenerLeft: a stream of leading bids, or of hints, has ended, which the agent did not want.
	ListenerLeft = "listener_left"
	// RegistrationSent is a proposer's: a relay has taken a batch of registrations. HeaderReceived: a
	// relay has answered with a bid. PayloadReceived: its answer contained the payload.
	RegistrationSent = "registration_sent"
	HeaderReceived   = "header_received"
	PayloadReceived  = "payload_received"
	// HintHeard is a searcher's who is told of an order, HintRepeated of one that it was told of
	// before. HistoryKept: it came back to the stream, and the history has all that it was ever told.
	HintHeard    = "hint_heard"
	HintRepeated = "hint_repeated"
	HistoryKept  = "history_kept"
	// RefundListed is a payer's: the bundle RPC told it for the first time of a delayed refund.
	// RefundReceived: that it was received. BooksRight: what the bundle RPC tells fits together, and
	// fits the chain.
	RefundListed   = "refund_listed"
	RefundReceived = "refund_received"
	BooksRight     = "books_right"
)
