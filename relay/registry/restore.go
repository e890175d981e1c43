package registry

import (
	"bytes"
	"iter"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Restore puts back registrations that were verified in an earlier run, in any order. They are not
// verified again and make no new facts. A registration of a validator that is not known is kept,
// and counts as soon as the validator is known.
func (r *Registry) Restore(entries iter.Seq[*relay.SignedRegistration]) {
	for entry := range entries {
		r.restore(entry)
	}
}

func (r *Registry) restore(entry *relay.SignedRegistration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.table.at(r.table.ensureRow(entry.Message.Pubkey))
	if difference := row.compare(entry); difference == renewed || difference == changed {
		r.table.put(row, entry)
		row.recorded = row.timestamp
		r.touch(entry.Message.Pubkey)
	}
}

// Adopt takes over a registration that another instance has verified, and recorded at a time. It is
// not verified again and makes no new fact. The subscriber gets it if it asks for something else.
// Of two different registrations that were signed for one second the one with the greater signature
// counts at every instance, whichever came first.
func (r *Registry) Adopt(at time.Time, entry *relay.SignedRegistration) {
	if r.adopt(at, entry) == changed && r.subscriber != nil {
		r.subscriber(entry.Message)
	}
}

func (r *Registry) adopt(at time.Time, entry *relay.SignedRegistration) difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	rowIndex := r.table.ensureRow(entry.Message.Pubkey)
	row := r.table.at(rowIndex)
	difference := row.compare(entry)
	sameSecond := row.registered && entry.Message.Timestamp.Unix() == row.timestamp
	switch {
	case difference != renewed && difference != changed:
		return nothing
	case difference == changed && sameSecond && bytes.Compare(entry.Signature[:], row.signature[:]) < 0:
		return nothing
	}
	r.table.put(row, entry)
	row.recorded = max(row.recorded, at.Unix())
	delete(r.unrecorded, rowIndex)
	r.touch(entry.Message.Pubkey)
	return difference
}

// Newest returns a validator's newest registration, even if the validator is not known now; nil if
// it has none.
func (r *Registry) Newest(key phase0.BLSPubKey) *relay.SignedRegistration {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.table.find(key).signed()
}

// Registrations returns how many validators have registered, including those that are not known
// now.
func (r *Registry) Registrations() (n int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.table.registered
}
