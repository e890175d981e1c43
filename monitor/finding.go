package monitor

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
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
	// Withheld: the relay served the best header of all relays, and the slot has no block. From gloas
	// on: the slot's block has the bid of this relay, or builder, or is the proposer's own work, and
	// the payload is not on the chain.
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
	// Equivocation: the proposer has signed two blocks of a slot.
	Equivocation Class = "equivocation"
)

// Classes are all classes, in the order of the docs.
var Classes = []Class{
	Signature, ParentHash, Timestamp, GasLimit, Value, Withheld, Unlisted, ListedUnlanded, Registrations,
	Unavailable, Slow, Equivocation,
}

// Finding is a fault of one party in one slot: of a relay that is watched, or from gloas on of the
// proposer, or of a builder that is no such relay.
type Finding struct {
	Relay    string              `json:"relay,omitempty"`
	Proposer *phase0.BLSPubKey   `json:"proposer,omitempty"`
	Builder  *gloas.BuilderIndex `json:"builder,string,omitempty"`
	Slot     phase0.Slot         `json:"slot,string"`
	Class    Class               `json:"class"`
	Detail   string              `json:"detail"`
	At       time.Time           `json:"at"`
}
