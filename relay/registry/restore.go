package registry

import (
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

// Adopt applies what the journal has of a registration: an instance of the cluster has verified it,
// and recorded it at a time. It must be called in the order of the journal, for this instance's own
// registrations too. It verifies nothing and makes no new fact. The subscriber gets the
// registration if it asks for something else. Of different registrations that were signed for one
// second the journal's last counts, so that all instances have the same one.
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
	row.recorded = max(row.recorded, at.Unix())
	difference := row.compare(entry)
	_, waits := r.unrecorded[rowIndex]
	switch {
	case difference == nothing && row.signature == entry.Signature:
		delete(r.unrecorded, rowIndex) // it has its fact now
		return nothing
	case difference != renewed && difference != changed:
		return nothing
	case waits && entry.Message.Timestamp.Unix() == row.timestamp:
		return nothing // what waits will be behind it in the journal
	}
	r.table.put(row, entry)
	delete(r.unrecorded, rowIndex)
	r.touch(entry.Message.Pubkey)
	return difference
}

// AdoptUnrecorded takes over a registration that another instance has verified and tells of before
// it records it. If the other one does not record a change within heardWithin, this instance does.
func (r *Registry) AdoptUnrecorded(entry *relay.SignedRegistration) {
	if r.adoptUnrecorded(entry) == changed && r.subscriber != nil {
		r.subscriber(entry.Message)
	}
}

func (r *Registry) adoptUnrecorded(entry *relay.SignedRegistration) difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	rowIndex := r.table.ensureRow(entry.Message.Pubkey)
	row := r.table.at(rowIndex)
	difference := row.compare(entry)
	if difference != renewed && difference != changed {
		return nothing
	}
	r.table.put(row, entry)
	if difference == changed {
		r.unrecorded[rowIndex] = heardWithin
	}
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
