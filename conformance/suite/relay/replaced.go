package relay

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// takenDown is how long a relay may still serve a bid for a fee recipient that the proposer has
// replaced. It is shorter than the time in which bids of the slot are served.
const takenDown = 300 * time.Millisecond

// replaced: bids for a fee recipient that the proposer has replaced.
func replaced(r *room) {
	r.It("REL-HDR-26", "serves no bid for a fee recipient that was replaced", func(t *suite.T) {
		before := r.fresh(t)
		t.Prepared(sendRegistrations(t.Preparing(), before), "register", http.StatusOK)
		t.Ready(holds(t, before), "see the registration in the data API")
		a := r.openFor(t, world.Wanted{Kind: world.Restless, Alone: true})
		a.feeRecipient = before.Message.FeeRecipient
		old := a.submitted(a.block("a", gwei(2000)))
		a.served(old)
		after := r.fresh(t)
		t.Prepared(sendRegistrations(t.Preparing(), after), "register another fee recipient", http.StatusOK)
		err := t.Eventually(takenDown, func() error {
			if bid := a.bid(); bid != nil && bid.Message.Header.BlockHash == old.Message.BlockHash {
				return errStillServed
			}
			return nil
		})
		t.Check(err == nil, "no bid that pays the fee recipient of before", err)
		a.feeRecipient = after.Message.FeeRecipient
		a.serves(a.submitted(a.block("b", gwei(1000))))
	})
}

const errStillServed = plainError("its bid is served")
