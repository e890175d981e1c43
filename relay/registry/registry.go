// Package registry knows who proposes when and what proposers have asked for: the validator table, registrations, duties, and what the
// beacon nodes have announced of the chain (head, payload attributes). All of it is memory; facts carry changes to the journal.
//
//	registrations ──> judge ──> verify (a batch, all cores) ──> store ──> fact
//	                    │                                         │
//	                    └──────────────> table <──────────────────┘
//	                                       │
//	duties, head ───────────────────────> list of duties, with a version
//
// One mutex guards everything; nothing is called while it is held.
package registry

import (
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// Registry is safe for concurrent use.
type Registry struct {
	spec        *eth.Spec
	facts       relay.Facts
	verifyBatch func([]bls.Triple) []error // bls.VerifyBatch, or what a test counts with

	replacing sync.Mutex // one SetValidators at a time; never taken while mu is held

	mu         sync.RWMutex // guards all below
	table      table
	duties     map[phase0.Epoch]dutyTable
	proposers  map[phase0.BLSPubKey]bool // of all duties
	version    uint64                    // of the list of duties
	listed     dutyList
	attributes map[attributesKey]*relay.Attributes
	head       relay.Head
}

// New returns a registry that knows nothing yet.
func New(spec *eth.Spec, facts relay.Facts) *Registry {
	return &Registry{
		spec: spec, facts: facts, verifyBatch: bls.VerifyBatch, table: newTable(), duties: map[phase0.Epoch]dutyTable{},
		proposers: map[phase0.BLSPubKey]bool{}, version: 1, attributes: map[attributesKey]*relay.Attributes{},
	}
}
