package defect

// The relay's defects.
const (
	AnyGasLimit          ID = "relay-any-gas-limit"
	AnyValue             ID = "relay-any-value"
	NotExecuted          ID = "relay-not-executed"
	UnsignedBid          ID = "relay-unsigned-bid"
	CancelKeepsOlder     ID = "relay-cancel-keeps-older"
	AnyParent            ID = "relay-any-parent"
	SecondBlock          ID = "relay-second-block"
	DeliveryNotListed    ID = "relay-delivery-not-listed"
	OlderRegistration    ID = "relay-older-registration"
	UnsignedRegistration ID = "relay-unsigned-registration"
	RenewalIsForgotten   ID = "relay-renewal-is-forgotten"
	ReplacedRecipient    ID = "relay-replaced-recipient"
	KnownIsRefused       ID = "relay-known-is-refused"
	FirstValueIsListed   ID = "relay-first-value-is-listed"
	ExecutedOnce         ID = "relay-executed-once"
	DemotesNobody        ID = "relay-demotes-nobody"
)

// The bundle RPC's defects. The last two are seen on the stream.
const (
	PrivateIsPublic ID = "rpc-private-is-public"
	CallIsSent      ID = "rpc-call-is-sent"
	AnyoneCancels   ID = "rpc-anyone-cancels"
	AnySignature    ID = "rpc-any-signature"
	AnyPercent      ID = "rpc-any-percent"
	StatusTells     ID = "rpc-status-tells"
	CallIsTold      ID = "rpc-call-is-told"
	HintlessIsTold  ID = "rpc-hintless-is-told"
)

// The event stream's defects.
const (
	MoreIsShown      ID = "stream-more-is-shown"
	SignatureIsShown ID = "stream-signature-is-shown"
	NewestFirst      ID = "stream-newest-first"
	BeyondLimit      ID = "stream-beyond-limit"
)

// All are all defects. Nobody may change it.
var All = []Defect{
	{AnyGasLimit, "relay", "takes blocks whose gas limit goes elsewhere than registered", []string{"REL-SUB-19"}},
	{AnyValue, "relay", "takes blocks that pay less than they say", []string{"REL-SUB-16"}},
	{NotExecuted, "relay", "takes blocks whatever their execution finds", []string{"REL-SUB-16", "REL-SUB-17", "REL-SUB-35"}},
	{UnsignedBid, "relay", "takes bids that somebody else has signed", []string{"REL-SUB-04"}},
	{CancelKeepsOlder, "relay", "keeps a cancelled bid beside the one that replaces it", []string{"REL-SUB-21", "REL-SUB-33"}},
	{AnyParent, "relay", "serves bids whatever parent is asked for", []string{"REL-HDR-08"}},
	{SecondBlock, "relay", "reveals a second block of a slot", []string{"REL-PAY-05"}},
	{DeliveryNotListed, "relay", "does not list what it delivers", []string{"REL-DAT-01"}},
	{OlderRegistration, "relay", "lets an older registration replace a newer one", []string{"REL-REG-03"}},
	{UnsignedRegistration, "relay", "takes registrations that somebody else has signed", []string{"REL-REG-02"}},
	{RenewalIsForgotten, "relay", "forgets a registration that is newer and says what the one before says", []string{"REL-REG-16", "REL-DAT-27"}},
	{ReplacedRecipient, "relay", "serves bids for a fee recipient that the proposer has replaced", []string{"REL-HDR-26"}},
	{KnownIsRefused, "relay", "takes the refusal of a block that the beacon node has already for a failure", []string{"REL-PAY-20"}},
	{FirstValueIsListed, "relay", "lists a delivery as the first submission of its block has it", []string{"REL-DAT-28"}},
	{ExecutedOnce, "relay", "takes a block that was executed once for proven at every value", []string{"REL-SUB-40"}},
	{DemotesNobody, "relay", "goes on trusting a builder whose block pays less than its bid", []string{"REL-SUB-40"}},

	{PrivateIsPublic, "rpc", "offers orders to the public pool", []string{"RPC-PRI-17"}},
	{CallIsSent, "rpc", "offers transactions that are only to be simulated to the public pool", []string{"RPC-CAL-11"}},
	{AnyoneCancels, "rpc", "lets everybody cancel a private transaction", []string{"RPC-CPR-02"}},
	{AnySignature, "rpc", "takes any signature for the address beside it", []string{"RPC-AUT-03", "RPC-AUT-04", "RPC-AUT-14"}},
	{AnyPercent, "rpc", "takes refunds of more than 100 % in sum", []string{"RPC-PRI-13", "RPC-SHR-15", "RPC-SHR-17"}},
	{StatusTells, "rpc", "shows what a follower's simulation used and paid before the followed order is on the chain", []string{"RPC-STA-01"}},
	{CallIsTold, "stream", "tells of transactions that were only simulated", []string{"STR-EVT-16"}},
	{HintlessIsTold, "stream", "tells of orders that share nothing", []string{"STR-HNT-20"}},

	{MoreIsShown, "stream", "shows the data of a transaction that shares its recipient only", []string{"STR-EVT-07", "STR-HNT-25"}},
	{SignatureIsShown, "stream", "shows the signature of a transaction that shares all but that", []string{"STR-HNT-18"}},
	{NewestFirst, "stream", "begins pages of the history with the newest event", []string{"STR-HIS-09"}},
	{BeyondLimit, "stream", "makes pages of the history longer by one than the limit", []string{"STR-HIS-05"}},
}
