package submit

import (
	"errors"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// senderRecords keeps, in memory, what executions have shown of senders. A sender may claim any key
// and any value, but it cannot claim a valid block. The zero value is empty and ready.
type senderRecords struct {
	mu     sync.Mutex // guards all below
	record map[phase0.BLSPubKey]int
	// The slot of the last invalid block, by key and by address. Its sender comes after all others in
	// that slot.
	invalidKey     map[phase0.BLSPubKey]phase0.Slot
	invalidAddress map[string]phase0.Slot
	overloadedAt   phase0.Slot // the last slot in which ReportFailure was called because executions do not keep up
}

// recordNeeds is how many valid blocks make a builder known. An invalid block ends that, so it
// costs its builder as many new valid ones.
const recordNeeds = 3

// remembered bounds the number of records. At the bound, incomplete records are forgotten; if that
// is not enough, all are. Active builders have complete records again within a slot.
const remembered = 10_000

// learn notes the verdict of an execution.
func (r *senderRecords) learn(s *relay.Submission, class exec.Class) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record == nil {
		r.record = map[phase0.BLSPubKey]int{}
		r.invalidKey, r.invalidAddress = map[phase0.BLSPubKey]phase0.Slot{}, map[string]phase0.Slot{}
	}
	key, slot := s.Trace.BuilderPubkey, phase0.Slot(s.Trace.Slot)
	switch class {
	case exec.Valid:
		r.makeRoom()
		r.record[key] = min(r.record[key]+1, recordNeeds)
	case exec.Invalid:
		delete(r.record, key)
		r.invalidKey[key] = slot
		if s.From != "" {
			r.invalidAddress[s.From] = slot
		}
	case exec.Infrastructure: // says nothing of the block
	}
}

// makeRoom keeps the records bounded. The caller holds mu.
func (r *senderRecords) makeRoom() {
	if len(r.record) < remembered {
		return
	}
	for key, valid := range r.record {
		if valid < recordNeeds {
			delete(r.record, key)
		}
	}
	if len(r.record) >= remembered {
		clear(r.record)
	}
}

// close forgets the invalid blocks of slots before one.
func (r *senderRecords) close(before phase0.Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, slot := range r.invalidKey {
		if slot < before {
			delete(r.invalidKey, key)
		}
	}
	for address, slot := range r.invalidAddress {
		if slot < before {
			delete(r.invalidAddress, address)
		}
	}
}

// of returns the priority of a submission by its sender's record: Known with a complete record,
// Last after an invalid block in the slot. An invalid block of the same address counts only against
// keys without a record.
func (r *senderRecords) of(s *relay.Submission) exec.Priority {
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := phase0.Slot(s.Trace.Slot)
	if failed, any := r.invalidKey[s.Trace.BuilderPubkey]; any && failed == slot {
		return exec.Last
	}
	if r.record[s.Trace.BuilderPubkey] >= recordNeeds {
		return exec.Known
	}
	if failed, any := r.invalidAddress[s.From]; any && failed == slot {
		return exec.Last
	}
	return exec.Normal
}

// firstOverload notes that executions do not keep up in a slot, and says whether it is the first
// time in that slot.
func (r *senderRecords) firstOverload(slot phase0.Slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.overloadedAt != slot
	r.overloadedAt = slot
	return first
}

// priority says how soon a block is executed. A signature or an API key has shown whose block it
// is. Its value is still only a claim: that the bid would lead raises the priority of known
// builders only.
func (p *Pipeline) priority(s *relay.Submission, builder relay.Builder) exec.Priority {
	if builder.HighPriority {
		return exec.High
	}
	priority := p.senders.of(s)
	if builder.Name != "" { // the operator has listed it
		priority = exec.Known
	}
	if priority == exec.Known && p.leads(s) {
		priority = exec.High
	}
	return priority
}

// reportOverload reports to the operator, once a slot, that blocks come faster than they can be
// executed.
func (p *Pipeline) reportOverload(s *relay.Submission, action string) {
	if p.senders.firstOverload(phase0.Slot(s.Trace.Slot)) {
		p.reportFailure(action, errTooMany)
	}
}

var errTooMany = errors.New("blocks come faster than they are executed: strangers are refused or time out, known " +
	"builders go first; add validation nodes if this goes on")
