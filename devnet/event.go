package devnet

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
}

// Subjects of events.
const (
	// RequestRefused: a service answered with an error; RequestFailed: there was no answer.
	RequestRefused = "request_refused"
	RequestFailed  = "request_failed"
	// BidCancelled comes from a builder: it replaces one of its bids by a lower one.
	BidCancelled = "bid_cancelled"
	// TopHeard comes from a builder: a relay's stream told it of a new leading bid.
	TopHeard = "top_heard"
	// ListenerLeft: a stream of leading bids or of hints ended although the agent wanted to go on
	// reading.
	ListenerLeft = "listener_left"
	// RegistrationSent comes from a proposer: a relay accepted a batch of registrations.
	// HeaderReceived: a relay answered with a bid. PayloadReceived: a relay's answer contained the
	// payload.
	RegistrationSent = "registration_sent"
	HeaderReceived   = "header_received"
	PayloadReceived  = "payload_received"
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
