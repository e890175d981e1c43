package monitor

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Class is a kind of fault. Classes are stable: they are metric labels and words of scenarios.
type Class string

// The classes.
const (
	// Signature: a header is signed by another key than the relay's, or not at all.
	Signature Class = "signature"
	// ParentHash: a header is on another parent than was asked for.
	ParentHash Class = "parent-hash"
	// Timestamp: a header's timestamp is not its slot's.
	Timestamp Class = "timestamp"
	// GasLimit: a header's gas limit is not as near to what the proposer asked for as one block's step
	// allows.
	GasLimit Class = "gas-limit"
	// Value: a header is worth nothing, or is listed as delivered for less than it was served for.
	Value Class = "value"
	// Withheld: the best header of all was served, and the slot has no block.
	Withheld Class = "withheld"
	// Unlisted: the slot's block is one whose header the relay served, and no relay lists it as
	// delivered.
	Unlisted Class = "unlisted-delivery"
	// ListedUnlanded: the relay lists a payload as delivered that is not the slot's block.
	ListedUnlanded Class = "listed-unlanded"
	// Registrations: the relay serves headers for a proposer whose registration it does not show, or
	// shows with a wrong signature.
	Registrations Class = "registrations"
	// Unavailable: no answer, or one that says that something is broken.
	Unavailable Class = "unavailable"
	// Slow: an answer took longer than proposers wait.
	Slow Class = "slow"
)

// Classes are all of them, in the order of the docs.
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
