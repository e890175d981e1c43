package registry

import (
	"iter"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Restore puts back registrations that were verified in an earlier life of the process, in any
// order: they are not verified again and are no new facts. One of a validator that is not known is
// kept and counts as soon as the validator is known.
func (r *Registry) Restore(entries iter.Seq[*relay.SignedRegistration]) {
	for entry := range entries {
		r.restore(entry)
	}
}

func (r *Registry) restore(entry *relay.SignedRegistration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.table.at(r.table.place(entry.Message.Pubkey))
	if difference := row.compare(entry); difference == renewed || difference == changed {
		r.table.put(row, entry)
		row.recorded = row.timestamp
		r.touch(entry.Message.Pubkey)
	}
}

// Newest is a validator's newest registration, whether the validator is known now or not; nil if it
// has none.
func (r *Registry) Newest(key phase0.BLSPubKey) *relay.SignedRegistration {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.table.find(key).signed()
}

// Registrations is how many validators have registered, also those that are not known now.
func (r *Registry) Registrations() (n int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.table.registered
}
