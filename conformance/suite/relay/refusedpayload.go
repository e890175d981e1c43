package relay

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// lateBy is how far into a slot no relay reveals a payload any more: deployed relays stop after 4
// s.
const lateBy = 4500 * time.Millisecond

// describeRefusedPayloads adds specs about requests for a payload that are refused, and must leave
// no delivery behind.
func describeRefusedPayloads(r *specs) {
	// unlisted fails the spec if the submission's payload is listed as delivered.
	unlisted := func(t *suite.T, s *submission) {
		t.Until(t.Now().Add(heldWithin))
		list := traces(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())
		t.Check(len(list) == 0, "no delivery of a payload that was refused", list)
	}
	r.It("REL-DAT-29", "does not list what was refused for its header", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		block.Message.Body.ExecutionPayloadHeader.StateRoot[3] ^= 1
		t.Prepared(a.prepare().ask(payloadPath, a.signBlind(block, a.proposer)), "ask with another header",
			http.StatusBadRequest)
		unlisted(t, s)
	})
	r.It("REL-DAT-29", "does not list what was refused for its signature", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		block.Signature[5] ^= 1
		t.Prepared(a.prepare().ask(payloadPath, block), "ask with a wrong signature", http.StatusBadRequest)
		unlisted(t, s)
	})
	r.Slow("REL-DAT-29", "does not list what was asked for too late", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		t.Until(a.start().Add(lateBy))
		if answer := a.prepare().ask(payloadPath, block); answer.Status == http.StatusOK {
			err := waitListed(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())
			t.Check(err == nil, "the delivery, since nothing is too late for this relay", err)
			return
		}
		unlisted(t, s)
	})
	for _, path := range []string{payloadPath, payloadPathV2} {
		r.It("REL-DAT-29", "does not list what no beacon node took, asked for at "+path, func(t *suite.T) {
			a, s, block := r.prepareWon(t, 0)
			_, err := t.World.Refuse(t, a.slot.Slot)
			t.Ready(err, "have the beacon node refuse the block")
			answer := a.prepare().ask(path, block)
			if path == payloadPathV2 && answer.Status == http.StatusNotFound {
				t.Unsupported("404 to v2")
			}
			if answer.Status < 400 {
				t.Lenient("the relay answers %d although no beacon node took the block", answer.Status)
			}
			unlisted(t, s)
		})
	}
	r.It("REL-GEN-11", "refuses a payload that it does not have with one document", func(t *suite.T) {
		a, _, block := r.prepareWon(t, 0)
		block.Message.Body.ExecutionPayloadHeader.BlockHash[3] ^= 1
		answer := a.ask(payloadPath, a.signBlind(block, a.proposer))
		t.Status(answer, http.StatusBadRequest)
		checkRefusal(t, answer)
	})
	r.It("REL-GEN-11", "refuses a second block of the slot with one document", func(t *suite.T) {
		a, first, second, _ := r.prepareTwoBlocks(t)
		t.Prepared(a.prepare().ask(payloadPath, first), "get the first payload", http.StatusOK)
		answer := a.ask(payloadPath, second)
		t.Status(answer, http.StatusBadRequest)
		checkRefusal(t, answer)
	})
}
