package overlay

import (
	"fmt"
	"slices"
)

// Mutant is one way in which a service can be wrong.
type Mutant struct {
	// ID is the name of the mutant and of its patch: lower case, with hyphens, and the service
	// first.
	ID string
	// Iface is the interface whose clauses must notice: relay, rpc, stream, sidecar or consensus.
	Iface string
	// What says in words what the service does wrong.
	What string
	// MustKill are the ids of the clauses whose specs must fail.
	MustKill []string
}

// Find returns the mutant with this id. The error is the caller's mistake.
func Find(id string) (Mutant, error) {
	for _, m := range slices.Concat(All, Unnoticed) {
		if m.ID == id {
			return m, nil
		}
	}
	return Mutant{}, fmt.Errorf("there is no mutant %s inside our services", id)
}

// All are all mutants inside our services. It must not be changed.
var All = slices.Concat(fromCode, ofForks, ofGloas, trials, sixthRound, ofSidecars, ofConsensus)

// fromCode are mutants that were written by those who wrote the specs.
var fromCode = []Mutant{
	{"rpc-min-timestamp-a-second-early", "rpc", "sends a bundle from the second before its minTimestamp on",
		[]string{"RPC-BUN-22"}},
	{"rpc-max-timestamp-exclusive", "rpc", "sends no bundle at the very second of its maxTimestamp",
		[]string{"RPC-BUN-22"}},
	{"relay-any-gas-limit", "relay", "takes blocks whose gas limit goes elsewhere than registered",
		[]string{"REL-SUB-19"}},
	{"relay-any-block-hash", "relay", "takes any block hash on which message and payload agree, and serves the bid",
		[]string{"REL-SUB-18"}},
	{"relay-any-version", "relay", "reads submissions by the fork of their slot, whichever one they name",
		[]string{"REL-SUB-29"}},
	{"relay-unpublished-is-listed", "relay", "lists payloads that no beacon node took as delivered",
		[]string{"REL-DAT-29"}},
	{"relay-refused-is-listed", "relay", "lists payloads that were asked for with a wrong signature as delivered",
		[]string{"REL-DAT-29"}},
	{"relay-any-value", "relay", "takes blocks that pay less than they say", []string{"REL-SUB-16"}},
	{"relay-not-executed", "relay", "takes blocks whatever their execution finds",
		[]string{"REL-SUB-16", "REL-SUB-17", "REL-SUB-35"}},
	{"relay-unsigned-bid", "relay", "takes bids that somebody else has signed", []string{"REL-SUB-04"}},
	{"relay-cancel-keeps-older", "relay", "keeps a cancelled bid beside the one that replaces it",
		[]string{"REL-SUB-21", "REL-SUB-33"}},
	{"relay-any-parent", "relay", "serves bids whatever parent is asked for", []string{"REL-HDR-08"}},
	{"relay-second-block", "relay", "reveals a second block of a slot", []string{"REL-PAY-05"}},
	{"relay-delivery-not-listed", "relay", "does not list what it delivers", []string{"REL-DAT-01"}},
	{"relay-older-registration", "relay", "lets an older registration replace a newer one", []string{"REL-REG-03"}},
	{"relay-unsigned-registration", "relay", "takes registrations that somebody else has signed", []string{"REL-REG-02"}},
	{"relay-renewal-is-forgotten", "relay", "forgets a registration that is newer and says what the one before says",
		[]string{"REL-REG-16", "REL-DAT-27"}},
	{"relay-replaced-recipient", "relay", "serves bids for a fee recipient that the proposer has replaced",
		[]string{"REL-HDR-26"}},
	{"relay-known-is-refused", "relay", "takes the refusal of a block that the beacon node has already for a failure",
		[]string{"REL-PAY-20"}},
	{"relay-first-value-is-listed", "relay", "lists a delivery as the first submission of its block has it",
		[]string{"REL-DAT-28"}},
	{"relay-executed-once", "relay", "takes a block that was executed once for proven at every value",
		[]string{"REL-SUB-40"}},
	{"relay-demotes-nobody", "relay", "goes on trusting a builder whose block pays less than its bid",
		[]string{"REL-SUB-40"}},

	{"rpc-private-is-public", "rpc", "offers orders to the public pool", []string{"RPC-PRI-17"}},
	{"rpc-call-is-sent", "rpc", "offers transactions that are only to be simulated to the public pool",
		[]string{"RPC-CAL-11"}},
	{"rpc-anyone-cancels", "rpc", "lets everybody cancel a private transaction", []string{"RPC-CPR-02"}},
	{"rpc-any-signature", "rpc", "takes any signature for the address beside it",
		[]string{"RPC-AUT-03", "RPC-AUT-04", "RPC-AUT-14"}},
	{"rpc-any-percent", "rpc", "takes refunds of more than 100 % in sum",
		[]string{"RPC-PRI-13", "RPC-SHR-15", "RPC-SHR-17"}},
	{"rpc-status-tells", "rpc",
		"shows what a follower's simulation used and paid before the followed order is on the chain", []string{"RPC-STA-01"}},
	{"rpc-call-is-told", "stream", "tells of transactions that were only simulated", []string{"STR-EVT-16"}},
	{"rpc-hintless-is-told", "stream", "tells of orders that share nothing", []string{"STR-HNT-20"}},
	{"rpc-can-revert-forgotten", "rpc", "forgets which transactions of mev_sendBundle may revert",
		[]string{"RPC-SHR-34"}},
	{"rpc-anything-may-revert", "rpc", "takes every transaction of mev_sendBundle for one that may revert",
		[]string{"RPC-SHR-34"}},
	{"rpc-inner-bundle-last", "rpc", "puts bundles inside of a bundle behind its other elements",
		[]string{"RPC-SHR-33"}},
	{"rpc-raw-preferences-ignored", "stream", "forgets the preferences of eth_sendPrivateRawTransaction",
		[]string{"STR-HNT-26"}},
	{"rpc-private-hints-ignored", "stream", "tells of private transactions as if they had no word of privacy",
		[]string{"STR-HNT-26"}},
	{"rpc-private-logs-besides", "stream", "tells of a private transaction's swaps whatever hints it has",
		[]string{"STR-HNT-26"}},

	{"stream-more-is-shown", "stream", "shows the data of a transaction that shares its recipient only",
		[]string{"STR-EVT-07", "STR-HNT-25"}},
	{"stream-signature-is-shown", "stream", "shows the signature of a transaction that shares all but that",
		[]string{"STR-HNT-18"}},
	{"stream-is-ndjson", "stream", "says that its events are application/x-ndjson", []string{"STR-SCH-02"}},
	{"stream-newest-first", "stream", "begins pages of the history with the newest event", []string{"STR-HIS-09"}},
	{"stream-beyond-limit", "stream", "makes pages of the history longer by one than the limit", []string{"STR-HIS-05"}},
}
