// Package registry knows who takes part in the auction. Of proposers it knows who proposes when and
// what they have asked for: the validator table, registrations, duties, and what the beacon nodes
// have announced of the chain (head, payload attributes). Of builders it knows how the operator
// treats each. All of it is in memory. Registrations are recorded as facts, and so are changes of
// builders' records, from which a restart restores both.
//
//	registrations ──> judge ──> verify (half of the cores) ──> store ──> fact, once a minute
//	                    │ └─> renewals of great batches ─> Run ─┘ │      (a second later)
//	                    └──────────────> table <──────────────────┘
//	                                       │
//	duties, head ───────────────────────> list of duties, with a version
//
//	configuration ─┐                                  ┌─▶ Of(pubkey), ByKey(api key)   ◀── submit, api
//	journal ─Restore┴─▶ records (the newest wins) ────┤
//	api ────────Set, Remove, Promote──▶ fact          └─▶ All, Demotions               ◀── api
//	submit ──Demote──▶ fact, fact
//	other instances ──Adopt, AdoptDemotion──▶ records, demotions
//	                ──Adopt, AdoptUnrecorded──▶ registrations
//
// One mutex guards all that is known of proposers, and another one the records of builders. No
// function outside of the package is called while the first is held.
package registry

import (
	"runtime"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// Registry holds validators, registrations, duties and the head. It is safe for concurrent use.
type Registry struct {
	spec        *eth.Spec
	facts       relay.Facts
	verifyBatch func([]bls.Triple) []error // bls.VerifyBatch on one processor; tests replace it to count calls
	processors  chan struct{}              // filled with one entry for each processor that verifies
	wake        chan struct{}              // filled when Run has renewals to verify
	subscriber  func(*builderv1.ValidatorRegistration)
	tell        func(*relay.SignedRegistration) // nil if there are no other instances

	replacing sync.Mutex // one SetValidators at a time; never taken while mu is held

	mu         sync.RWMutex // guards all below
	table      table
	duties     map[phase0.Epoch]dutyTable
	proposers  map[phase0.BLSPubKey]bool // of all duties
	version    uint64                    // of the list of duties
	listed     dutyList
	attributes map[attributesKey]*relay.Attributes
	head       relay.Head
	// preferences of the slots from gloas on, one for each root that their duty may depend on
	preferences map[phase0.Slot]map[phase0.Root]*gloas.ProposerPreferences
	renewals    renewalQueue // accepted, and not verified yet
	// by row index, changes without a fact, and how long after the last fact they wait for theirs
	unrecorded map[uint32]time.Duration
}

// New returns an empty registry.
func New(spec *eth.Spec, facts relay.Facts) *Registry {
	return &Registry{
		spec: spec, facts: facts, verifyBatch: func(triples []bls.Triple) []error { return bls.VerifyBatch(triples, 1) },
		processors: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), wake: make(chan struct{}, 1),
		table: newTable(), duties: map[phase0.Epoch]dutyTable{}, proposers: map[phase0.BLSPubKey]bool{}, version: 1,
		attributes:  map[attributesKey]*relay.Attributes{},
		preferences: map[phase0.Slot]map[phase0.Root]*gloas.ProposerPreferences{}, unrecorded: map[uint32]time.Duration{},
	}
}

// Subscribe sets the function that gets each registration that asks for something else than the one
// before it, after it is stored and before its request is answered. Its fact may come later.
// Subscribe may be called once, before the first registration.
func (r *Registry) Subscribe(reregistered func(*builderv1.ValidatorRegistration)) {
	r.subscriber = reregistered
}

// TellOthers sets the function that gets each registration that is stored and makes no fact now. It
// gets it before the request is answered, and must not block. TellOthers may be called once, before
// the first registration.
func (r *Registry) TellOthers(tell func(*relay.SignedRegistration)) { r.tell = tell }
