package registry

import (
	"iter"

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
