package registry

import (
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// row is a validator and its registration, by value: a million of them hold no pointer for the
// garbage collector to follow.
type row struct {
	pubkey       phase0.BLSPubKey
	signature    phase0.BLSSignature
	feeRecipient relay.FeeRecipient
	known        bool // in the beacon chain's table; a registration of another one is kept, but does not count
	registered   bool
	index        phase0.ValidatorIndex
	gasLimit     uint64
	timestamp    int64 // Unix seconds
	recorded     int64 // Unix seconds of its last fact, 0 if there is none
}

// pageRows is how many rows are allocated together. Pages never move, so that growth copies nothing
// and needs no room for two tables.
const pageRows = 4096

// table holds rows by place. A row is never taken away: validators that exit are few, and one that
// a lagging beacon node has left out for an epoch finds its registration again. The registry's
// mutex guards it.
//
//	places (pubkey) ──┐
//	                  ├──> place ──> pages[place/4096][place%4096]
//	indices (index) ──┘
type table struct {
	places  map[phase0.BLSPubKey]uint32
	indices map[phase0.ValidatorIndex]uint32
	pages   []*[pageRows]row
	rows    uint32
	known   int // rows that are known
	// registered counts the rows that are.
	registered int
}

func newTable() table {
	return table{places: map[phase0.BLSPubKey]uint32{}, indices: map[phase0.ValidatorIndex]uint32{}}
}

func (t *table) at(place uint32) *row { return &t.pages[place/pageRows][place%pageRows] }

// find is the row of a key, nil if it has none.
func (t *table) find(key phase0.BLSPubKey) *row {
	place, ok := t.places[key]
	if !ok {
		return nil
	}
	return t.at(place)
}

// place is where the row of a key stands; it is made if need be.
func (t *table) place(key phase0.BLSPubKey) uint32 {
	place, ok := t.places[key]
	if ok {
		return place
	}
	place = t.rows
	if place%pageRows == 0 {
		t.pages = append(t.pages, new([pageRows]row))
	}
	t.rows++
	t.places[key] = place
	t.at(place).pubkey = key
	return place
}

// know takes a validator of the beacon chain and says where it stands and whether that is news.
func (t *table) know(v relay.Validator) (place uint32, changed bool) {
	place = t.place(v.Pubkey)
	r := t.at(place)
	if r.known && r.index == v.Index {
		return place, false
	}
	t.forget(place)
	r.known, r.index = true, v.Index
	t.indices[v.Index] = place
	t.known++
	return place, true
}

// forget takes a validator out of the beacon chain's table; its registration stays.
func (t *table) forget(place uint32) {
	r := t.at(place)
	if !r.known {
		return
	}
	r.known = false
	t.known--
	if t.indices[r.index] == place {
		delete(t.indices, r.index)
	}
}

// difference is what an entry would change in a row.
type difference uint8

const (
	nothing difference = iota // it is what is held, or older
	forged                    // it says what is held, with another signature: of a key and a message only one is right
	renewed                   // it says what is held, later
	changed                   // the row has none, or another one, which is not newer
)

// compare says what an entry would change if its signature is right. An older one changes nothing.
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

// registration is the entry as the proposer signed it; nil if there is none or the validator is not
// known.
func (r *row) registration() *relay.SignedRegistration {
	if r == nil || !r.known {
		return nil
	}
	return r.signed()
}

// signed is the entry as the proposer signed it, also of a validator that is not known; nil if
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
