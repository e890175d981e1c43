package relay

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// describeGloasDeliveries adds specs about what a relay lists as delivered from gloas on.
func describeGloasDeliveries(r *specs) {
	r.It("GLO-DAT-01", "lists a payload that was revealed, with what was paid", func(t *suite.T) {
		a, o, block := r.prepareWonGloas(t, world.Order{})
		t.Prepared(a.prepare().hand(block), "hand in the block", http.StatusAccepted)
		a.checkRevealed()
		query := "block_hash=" + o.Message.BlockHash.String()
		err := waitListed(t, deliveredPath, query)
		t.Check(err == nil, "the delivered payload", err)
		checkAllHave(t, deliveredPath, query, "value", gwei(uint64(o.totalGwei())).Dec())
		checkAllHave(t, deliveredPath, query, "proposer_fee_recipient", a.feeRecipient.String())
		checkAllHave(t, deliveredPath, query, "builder_pubkey", o.key.Public.String())
	})
	r.It("GLO-DAT-01", "does not list a payload that was withheld", func(t *suite.T) {
		a, o, block := r.prepareWonGloas(t, world.Order{})
		t.Ready(t.World.RefuseEnvelopes(t, a.slot.Slot, 1000), "have the beacon node refuse all envelopes")
		t.Prepared(a.prepare().hand(block), "hand in the block", http.StatusAccepted)
		t.Until(a.start().Add(t.World.Facts.Slots(1)))
		list := traces(t, deliveredPath, "block_hash="+o.Message.BlockHash.String())
		t.Check(len(list) == 0, "no delivery", list)
	})
}
