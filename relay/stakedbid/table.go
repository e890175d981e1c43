package stakedbid

import (
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
)

// Table has the staked builders of the beacon chain, as a beacon node has told once in an epoch, or
// with the next head after somebody has named a builder that it lacks. So the requests to beacon
// nodes do not grow with those to the relay. It is safe for concurrent use; the zero value lacks
// all.
type Table struct {
	mu        sync.Mutex // guards what follows
	known     bool
	epoch     phase0.Epoch
	finalized phase0.Epoch
	builders  map[gloas.BuilderIndex]gloas.Builder
	lacks     bool // somebody has named one that is not here
}

// Of returns a builder, of which the caller may change its copy; nil if it is not here.
func (t *Table) Of(index gloas.BuilderIndex) *check.Builder {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, here := t.builders[index]
	if !here {
		t.lacks = true
		return nil
	}
	return &check.Builder{Builder: b, FinalizedEpoch: t.finalized}
}

// IsDue says whether a beacon node is to be asked again.
func (t *Table) IsDue(epoch phase0.Epoch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.known || t.epoch != epoch || t.lacks
}

// Set replaces the table by what a beacon node has told in an epoch.
func (t *Table) Set(epoch, finalized phase0.Epoch, builders map[gloas.BuilderIndex]gloas.Builder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known, t.epoch, t.finalized, t.builders, t.lacks = true, epoch, finalized, builders, false
}
