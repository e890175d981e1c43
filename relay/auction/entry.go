package auction

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// EntryVersion is the version of the entries that this program writes, and the newest that it
// knows.
const EntryVersion = 1

// EntryKind says what an entry of the auction log does. Kinds are text, so that a reader may meet
// one that it does not know.
type EntryKind string

// The kinds of entries.
const (
	// BidEntered puts a bid into its auction.
	BidEntered EntryKind = "bid"
	// BidVerified says that an execution has found a bid valid.
	BidVerified EntryKind = "verified"
	// BuilderWithdrawn takes out a builder's bids that no entry before it has verified, in all
	// auctions of the slot. Unverified bids of the builder do not enter any more.
	BuilderWithdrawn EntryKind = "withdrawn"
	// ProposerReregistered takes out the bids that are not what the proposer asks for now, and keeps
	// such bids out from then on.
	ProposerReregistered EntryKind = "reregistered"
	// SlotDelivered ends the slot: no bid enters any more.
	SlotDelivered EntryKind = "delivered"
	// LogOpened is the first entry of a slot's log: a reader that does not find it there has missed
	// entries.
	LogOpened EntryKind = "opened"
	// PayloadArrived says that the payload of a block whose headers are in the auction is in the
	// escrow now.
	PayloadArrived EntryKind = "payload"
	// PayloadLate asks whether the payload of a header is here: if no PayloadArrived is before it, the
	// payload has come too late for all instances, and the one that asks demotes the builder.
	PayloadLate EntryKind = "late"
	// BlockDropped takes out a builder's bids of a block whose payload the escrow has no room for,
	// unless one of them leads or is the builder's current one.
	BlockDropped EntryKind = "dropped"
)

// Entry is one entry of a slot's auction log (decision 19). Only the fields of its kind are set.
type Entry struct {
	// Version is the version that has written the entry; Needs is the least version that may read it.
	// A reader of a version below Needs must stop, since it could elect another top.
	Version int `json:"version"`
	Needs   int `json:"needs"`
	// Instance has written the entry as its Number-th; an entry that is appended again, because its
	// ack was lost, has both again.
	Instance string    `json:"instance"`
	Number   uint64    `json:"number"`
	Kind     EntryKind `json:"kind"`

	ParentHash phase0.Hash32    `json:"parent_hash,omitzero"`
	Proposer   phase0.BLSPubKey `json:"proposer_pubkey,omitzero"`
	// Builder, BlockHash, ValueWei and FeeRecipient name a bid, of BidEntered and BidVerified.
	// PayloadLate names one, too. PayloadArrived and BlockDropped have Builder and BlockHash,
	// BuilderWithdrawn has the Builder.
	Builder   phase0.BLSPubKey `json:"builder_pubkey,omitzero"`
	BlockHash phase0.Hash32    `json:"block_hash,omitzero"`
	ValueWei  *uint256.Int     `json:"value,omitempty"`
	// FeeRecipient and GasLimit are those of the block, or what the proposer asks for now.
	FeeRecipient relay.FeeRecipient `json:"proposer_fee_recipient,omitzero"`
	GasLimit     uint64             `json:"gas_limit,omitempty,string"`
	// AskedGas is the gas limit that the proposer asked for when the bid came.
	AskedGas uint64 `json:"asked_gas_limit,omitempty,string"`
	// RegisteredAt is the time stamp of the registration of ProposerReregistered. An older one than
	// that of an entry before it changes nothing.
	RegisteredAt time.Time `json:"registered_at,omitzero"`
	ReceivedAt   time.Time `json:"received_at,omitzero"`
	// Cancellable and Sequence as in relay.Bid.
	Cancellable bool   `json:"cancellable,omitempty"`
	Sequence    uint64 `json:"sequence,omitempty,string"`
	// Verified: the block was executed before the bid entered. Uncounted: the bid was not executed,
	// because it is at or below the floor, and only replaces (decision 5).
	Verified  bool `json:"verified,omitempty"`
	Uncounted bool `json:"uncounted,omitempty"`
	// Awaited: the payload of the bid follows. Seen is how many entries of the log its instance had
	// applied when it found the payload in the escrow; the bid does not enter if the block was dropped
	// behind them.
	Awaited bool   `json:"awaited,omitempty"`
	Seen    uint64 `json:"seen,omitempty,string"`
	// Offer is what serves the bid at another instance. The board does not read it.
	Offer json.RawMessage `json:"offer,omitempty"`

	// unknown has the fields of later versions, which are written again as they were read.
	unknown map[string]json.RawMessage
}

// ErrNewerEntry says that an entry needs a reader of a later version.
var ErrNewerEntry = errors.New("the entry needs a newer version of gavel")

// plainEntry is an Entry without its methods.
type plainEntry Entry

// MarshalJSON writes the entry, with the unknown fields that it was read with.
func (e Entry) MarshalJSON() ([]byte, error) {
	known, err := json.Marshal(plainEntry(e))
	if err != nil || len(e.unknown) == 0 {
		return known, err
	}
	fields := maps.Clone(e.unknown)
	if err := json.Unmarshal(known, &fields); err != nil {
		return nil, fmt.Errorf("merge the fields of an entry: %w", err)
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads an entry of any version, and keeps the fields that it does not know.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var plain plainEntry
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*e = Entry(plain)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return isEntryField(name) })
	if len(fields) > 0 {
		e.unknown = fields
	}
	return nil
}

// DecodeEntry reads an entry of the log. An entry of a later version is read, if it says that this
// version may; otherwise the error is ErrNewerEntry.
func DecodeEntry(data []byte) (Entry, error) {
	var entry Entry
	if err := json.Unmarshal(data, &entry); err != nil {
		return Entry{}, fmt.Errorf("decode entry: %w", err)
	}
	switch {
	case entry.Needs > EntryVersion:
		return Entry{}, fmt.Errorf("decode entry of version %d, which needs version %d: %w", entry.Version, entry.Needs,
			ErrNewerEntry)
	case entry.Version < 1 || entry.Needs < 1 || entry.Needs > entry.Version:
		return Entry{}, fmt.Errorf("decode entry: version %d that needs version %d", entry.Version, entry.Needs)
	case entry.Instance == "" || entry.Number == 0:
		return Entry{}, errors.New("decode entry: it names no instance and number")
	case (entry.Kind == BidEntered || entry.Kind == BidVerified || entry.Kind == PayloadLate) && entry.ValueWei == nil:
		return Entry{}, errors.New("decode entry: a bid without a value")
	}
	return entry, nil
}
