package submit

import (
	"maps"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Close forgets the auctions of all slots before the given one, and drops their blocks from the
// optimistic queue. Delivered blocks stay in the queue.
func (p *Pipeline) Close(before phase0.Slot) {
	p.mu.Lock()
	p.books.Close(before)
	p.shared.close(before)
	for id, bid := range p.prepared {
		if bid.trace.Slot < before {
			delete(p.prepared, id)
		}
	}
	p.escrowShares.close(before)
	maps.DeleteFunc(p.escrowed, func(id relay.PayloadID, _ *escrowedPayload) bool { return id.Slot < before })
	p.mu.Unlock()
	p.senders.close(before)
	p.factShares.close(before)
	for _, job := range p.optimistic.close(before) {
		if job.backup {
			continue // for the instance that took it
		}
		p.recordSimulated(job, "infrastructure", "", "the slot was over before the block could be executed", nil)
	}
}
