package receive

import (
	"errors"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// standings is what executions have shown of those who bid, in memory. A key or a value is only a
// claim; a valid block is none. The zero value knows nobody.
type standings struct {
	mu     sync.Mutex // guards all below
	record map[phase0.BLSPubKey]int
	// invalid has the slot of the last invalid block, by key and by address: whoever sent it comes
	// after all others in that slot.
	invalidKey     map[phase0.BLSPubKey]phase0.Slot
	invalidAddress map[string]phase0.Slot
	overrun        phase0.Slot // the last slot of which the operator was told that executions do not keep up
}

// recordNeeds is how many valid blocks make a builder known. An invalid one ends that, so an
// invalid block costs at least as many valid ones.
const recordNeeds = 3

// remembered bounds the records. When there are more, those that are not complete are forgotten,
// and then all: they are made anew in a slot.
const remembered = 10_000

// learn takes note of a verdict.
func (st *standings) learn(s *relay.Submission, class exec.Class) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.record == nil {
		st.record = map[phase0.BLSPubKey]int{}
		st.invalidKey, st.invalidAddress = map[phase0.BLSPubKey]phase0.Slot{}, map[string]phase0.Slot{}
	}
	key, slot := s.Trace.BuilderPubkey, phase0.Slot(s.Trace.Slot)
	switch class {
	case exec.Valid:
		st.makeRoom()
		st.record[key] = min(st.record[key]+1, recordNeeds)
	case exec.Invalid:
		delete(st.record, key)
		st.invalidKey[key] = slot
		if s.From != "" {
			st.invalidAddress[s.From] = slot
		}
	case exec.Infrastructure: // says nothing of the block
	}
}

// makeRoom keeps the records bounded. The caller holds mu.
func (st *standings) makeRoom() {
	if len(st.record) < remembered {
		return
	}
	for key, valid := range st.record {
		if valid < recordNeeds {
			delete(st.record, key)
		}
	}
	if len(st.record) >= remembered {
		clear(st.record)
	}
}

// close forgets the invalid blocks of slots before one.
func (st *standings) close(before phase0.Slot) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for key, slot := range st.invalidKey {
		if slot < before {
			delete(st.invalidKey, key)
		}
	}
	for address, slot := range st.invalidAddress {
		if slot < before {
			delete(st.invalidAddress, address)
		}
	}
}

// of is the priority of a submission by what its sender has shown: Known with a record, Last after
// an invalid block in the slot. The key of a record is its own; strangers stand for their address
// too.
func (st *standings) of(s *relay.Submission) exec.Priority {
	st.mu.Lock()
	defer st.mu.Unlock()
	slot := phase0.Slot(s.Trace.Slot)
	if failed, any := st.invalidKey[s.Trace.BuilderPubkey]; any && failed == slot {
		return exec.Last
	}
	if st.record[s.Trace.BuilderPubkey] >= recordNeeds {
		return exec.Known
	}
	if failed, any := st.invalidAddress[s.From]; any && failed == slot {
		return exec.Last
	}
	return exec.Normal
}

// firstOverrun says whether this is the first time in a slot that executions do not keep up.
func (st *standings) firstOverrun(slot phase0.Slot) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	first := st.overrun != slot
	st.overrun = slot
	return first
}

// priority says how soon a block is executed. The signature, or an API key, has shown whose it is;
// that it would lead by what it says of itself counts among known builders only.
func (d *Desk) priority(s *relay.Submission, builder relay.Builder) exec.Priority {
	if builder.HighPriority {
		return exec.High
	}
	priority := d.standings.of(s)
	if builder.Name != "" { // the operator has listed it
		priority = exec.Known
	}
	if priority == exec.Known && d.leads(s) {
		priority = exec.High
	}
	return priority
}

// overrun tells the operator, once a slot, that blocks come faster than they can be executed.
func (d *Desk) overrun(s *relay.Submission, action string) {
	if d.standings.firstOverrun(phase0.Slot(s.Trace.Slot)) {
		d.trouble(action, errTooMany)
	}
}

var errTooMany = errors.New("blocks come faster than they are executed: strangers are refused or time out, known " +
	"builders go first; add validation nodes if this goes on")
