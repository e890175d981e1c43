package relay

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// signedFor: the value with which a delivery is listed.
func signedFor(r *room) {
	r.It("REL-DAT-28", "lists the value of the header", func(t *suite.T) {
		a := r.openToPropose(t)
		a.listsWhatIsSigned(a.submitted(a.block("a", gwei(1000))))
	})
	r.It("REL-DAT-28", "lists the value of the header, when the block was offered for less before", func(t *suite.T) {
		a := r.openToPropose(t)
		high := a.block("a", gwei(2000))
		copied := *high.SubmitBlockRequest
		low := &submission{SubmitBlockRequest: &copied, a: a, key: high.key}
		message := *high.Message
		message.BuilderPubkey, message.Value = low.key.Public, gwei(a.slot.BaseGwei+1000)
		low.Message = &message
		if answer := a.submit(low.sign()); answer.Status != http.StatusOK {
			t.Lenient("a block is not taken at less than it pays, so that it has one value: %s", answer)
		}
		a.listsWhatIsSigned(a.submitted(high))
	})
}

// listsWhatIsSigned has the proposer sign the submission's header and get its payload. It fails the
// spec unless the delivery is listed with the value of that header.
func (a *auction) listsWhatIsSigned(s *submission) {
	t := a.t
	bid := a.served(s)
	t.Prepared(a.preparing().ask(payloadPath, a.signBlind(a.blind(bid), a.proposer)), "get the payload", http.StatusOK)
	query := "block_hash=" + s.Message.BlockHash.String()
	t.Ready(listed(t, deliveredPath, query), "see the delivery in the data API")
	trace := traces(t, deliveredPath, query)[0]
	t.Check(text(t, trace, "value") == bid.Message.Value.Dec(), "the header's value "+bid.Message.Value.Dec(),
		trace["value"])
	if bid.Message.Value.Eq(s.Message.Value) { // otherwise another builder's bid for the block was served
		t.Check(text(t, trace, "builder_pubkey") == s.Message.BuilderPubkey.String(), "the builder who bid it, "+
			s.Message.BuilderPubkey.String(), trace["builder_pubkey"])
	}
}
