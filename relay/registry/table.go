package registry

import (
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// row is a validator and its registration. It holds no pointers, because there are a million rows
// and the garbage collector would follow each.
type row struct {
	pubkey       phase0.BLSPubKey
	signature    phase0.BLSSignature
	feeRecipient relay.FeeRecipient
	known        bool // is in the beacon chain's table; if not, its registration is kept but does not count
	registered   bool
	index        phase0.ValidatorIndex
	gasLimit     uint64
	timestamp    int64 // Unix seconds
	recorded     int64 // Unix seconds of its last fact, 0 if there is none
}

// pageRows is how many rows are allocated together. Pages never move, so growth copies no rows and
// never needs memory for two tables.
const pageRows = 4096

// table holds rows by their index. Rows are never removed: few validators exit, and one that a
// lagging beacon node has left out for an epoch needs its registration again. The registry's mutex
// guards the table.
//
//	byKey (pubkey) ──┐
//	                 ├──> rowIndex ──> pages[rowIndex/4096][rowIndex%4096]
//	byIndex (index) ─┘
type table struct {
	byKey   map[phase0.BLSPubKey]uint32
	byIndex map[phase0.ValidatorIndex]uint32
	pages   []*[pageRows]row
	rows    uint32
	known   int // rows that are known
	// registered counts the rows that have a registration.
	registered int
}

func newTable() table {
	return table{byKey: map[phase0.BLSPubKey]uint32{}, byIndex: map[phase0.ValidatorIndex]uint32{}}
}

func (t *table) at(rowIndex uint32) *row { return &t.pages[rowIndex/pageRows][rowIndex%pageRows] }

// find returns the row of a key; nil if there is none.
func (t *table) find(key phase0.BLSPubKey) *row {
	rowIndex, ok := t.byKey[key]
	if !ok {
		return nil
	}
	return t.at(rowIndex)
}

// ensureRow returns the ensureRow of a key's row, which it makes if there is none.
func (t *table) ensureRow(key phase0.BLSPubKey) uint32 {
	rowIndex, ok := t.byKey[key]
	if ok {
		return rowIndex
	}
	rowIndex = t.rows
	if rowIndex%pageRows == 0 {
		t.pages = append(t.pages, new([pageRows]row))
	}
	t.rows++
	t.byKey[key] = rowIndex
	t.at(rowIndex).pubkey = key
	return rowIndex
}

// know notes a validator of the beacon chain. It returns the index of the validator's row, and
// whether the table has changed.
func (t *table) know(v relay.Validator) (rowIndex uint32, changed bool) {
	rowIndex = t.ensureRow(v.Pubkey)
	r := t.at(rowIndex)
	if r.known && r.index == v.Index {
		return rowIndex, false
	}
	t.forget(rowIndex)
	r.known, r.index = true, v.Index
	t.byIndex[v.Index] = rowIndex
	t.known++
	return rowIndex, true
}

// forget notes that a validator is not in the beacon chain's table any more. Its registration
// stays.
func (t *table) forget(rowIndex uint32) {
	r := t.at(rowIndex)
	if !r.known {
		return
	}
	r.known = false
	t.known--
	if t.byIndex[r.index] == rowIndex {
		delete(t.byIndex, r.index)
	}
}

// difference is what an entry would change in a row.
type difference uint8

const (
	nothing difference = iota // the entry equals the row, or is older
	// the message equals the row's, and the signature does not: a key and a message have only one
	// valid signature
	forged
	renewed // the content equals the row's, and the timestamp is newer
	changed // the row has no registration, or one with other content that is not newer
)

// compare says what an entry would change if its signature is valid. An older entry changes
// nothing.
func (r *row) compare(entry *relay.SignedRegistration) difference {
	message := entry.Message
	same, seconds := r.feeRecipient == message.FeeRecipient && r.gasLimit == message.GasLimit, message.Timestamp.Unix()
	switch {
	case !r.registered:
		return changed
	case seconds < r.timestamp:
		return nothing
	case !same:
		return changed
	case seconds > r.timestamp:
		return renewed
	case r.signature != entry.Signature:
		return forged
	default:
		return nothing
	}
}

// put writes an entry over the stored one.
func (t *table) put(r *row, entry *relay.SignedRegistration) {
	message := entry.Message
	if !r.registered {
		t.registered++
	}
	r.registered, r.signature, r.feeRecipient = true, entry.Signature, message.FeeRecipient
	r.gasLimit, r.timestamp = message.GasLimit, message.Timestamp.Unix()
}

// registration returns the entry as the proposer signed it; nil if there is none or the validator
// is not known.
func (r *row) registration() *relay.SignedRegistration {
	if r == nil || !r.known {
		return nil
	}
	return r.signed()
}

// signed returns the entry as the proposer signed it, even if the validator is not known; nil if
// there is none.
func (r *row) signed() *relay.SignedRegistration {
	if r == nil || !r.registered {
		return nil
	}
	return &relay.SignedRegistration{
		Message: &builderv1.ValidatorRegistration{
			FeeRecipient: r.feeRecipient, GasLimit: r.gasLimit, Timestamp: time.Unix(r.timestamp, 0), Pubkey: r.pubkey,
		},
		Signature: r.signature,
	}
}
