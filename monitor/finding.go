package monitor

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Class is a kind of fault. Classes are stable, because metric labels and scenarios contain them.
type Class string

// The classes.
const (
	// Signature: a bid is signed by another key than the relay's, its signature does not verify, or
	// it cannot be read.
	Signature Class = "signature"
	// ParentHash: a header is on another parent than was asked for.
	ParentHash Class = "parent-hash"
	// Timestamp: a header's timestamp is not its slot's.
	Timestamp Class = "timestamp"
	// GasLimit: a header's gas limit is not as near to the proposer's registered one as one block's
	// step allows.
	GasLimit Class = "gas-limit"
	// Value: a header has value 0, or is listed as delivered with a lower value than it was served
	// with.
	Value Class = "value"
	// Withheld: the relay served the best header of all relays, and the slot has no block.
	Withheld Class = "withheld"
	// Unlisted: the relay served the header of the slot's block, and no relay lists the block as
	// delivered.
	Unlisted Class = "unlisted-delivery"
	// ListedUnlanded: the relay lists a payload as delivered that is not the slot's block.
	ListedUnlanded Class = "listed-unlanded"
	// Registrations: the relay serves headers for a proposer whose registration it does not show, or
	// shows with a wrong signature.
	Registrations Class = "registrations"
	// Unavailable: no answer, or a status of 500 and above.
	Unavailable Class = "unavailable"
	// Slow: an answer took longer than proposers wait.
	Slow Class = "slow"
)

// Classes are all classes, in the order of the docs.
var Classes = []Class{
	Signature, ParentHash, Timestamp, GasLimit, Value, Withheld, Unlisted, ListedUnlanded, Registrations,
	Unavailable, Slow,
}

// Finding is a fault of one relay in one slot.
type Finding struct {
	Relay  string      `json:"relay"`
	Slot   phase0.Slot `json:"slot,string"`
	Class  Class       `json:"class"`
	Detail string      `json:"detail"`
	At     time.Time   `json:"at"`
}
