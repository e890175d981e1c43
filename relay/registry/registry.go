// Package registry knows who proposes when and what proposers have asked for: the validator table, registrations, duties, and what the
// beacon nodes have announced of the chain (head, payload attributes). All of it is memory; facts carry changes to the journal.
//
// One mutex guards everything; nothing is called while it is held.
package registry

import (
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Registry is safe for concurrent use.
type Registry struct {
	spec  *eth.Spec
	facts relay.Facts

	mu            sync.RWMutex // guards all below
	validators    map[phase0.BLSPubKey]phase0.ValidatorIndex
	byIndex       map[phase0.ValidatorIndex]phase0.BLSPubKey
	registrations map[phase0.BLSPubKey]*relay.SignedRegistration
	duties        map[phase0.Epoch]dutyTable
	attributes    map[attributesKey]*relay.Attributes
	head          relay.Head
}

// New returns a registry that knows nothing yet.
func New(spec *eth.Spec, facts relay.Facts) *Registry {
	return &Registry{
		spec: spec, facts: facts,
		validators: map[phase0.BLSPubKey]phase0.ValidatorIndex{}, byIndex: map[phase0.ValidatorIndex]phase0.BLSPubKey{},
		registrations: map[phase0.BLSPubKey]*relay.SignedRegistration{}, duties: map[phase0.Epoch]dutyTable{},
		attributes: map[attributesKey]*relay.Attributes{},
	}
}

// SetValidators replaces the validator table.
func (r *Registry) SetValidators(table []relay.Validator) {
	validators := make(map[phase0.BLSPubKey]phase0.ValidatorIndex, len(table))
	byIndex := make(map[phase0.ValidatorIndex]phase0.BLSPubKey, len(table))
	for _, v := range table {
		validators[v.Pubkey], byIndex[v.Index] = v.Index, v.Pubkey
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.validators, r.byIndex = validators, byIndex
}

// Validators is how many validators are known.
func (r *Registry) Validators() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.validators)
}

// Pubkey is the public key of a validator.
func (r *Registry) Pubkey(index phase0.ValidatorIndex) (phase0.BLSPubKey, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	key, ok := r.byIndex[index]
	return key, ok
}
