package builder

import (
	"net/url"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeCancellations adds specs about bids that take the place of higher ones.
func describeCancellations(s *suite.Set) {
	s.Slow("BLD-CAN-01", "lowers a bid with cancellations=1 only", func(t *suite.T) {
		lowered := 0
		list := watchReadable(t)
		for i, one := range list {
			if i > 0 && isSameAuction(list[i-1], one) && one.Block.Message.Value.Lt(list[i-1].Block.Message.Value) {
				lowered++
				if !one.Cancellable() {
					judge(t, one, &finding{"cancellations=1 with a bid below the one before it", "a query of \"" + one.Query + "\""})
				}
			}
		}
		if lowered == 0 {
			t.NotRun("the builder has lowered no bid")
		}
	})
	judgeEach(s, "BLD-CAN-02", "opts into cancellations by 1 and nothing else", func(_ *suite.T,
		s *scripted.Submission) *finding {
		query, err := url.ParseQuery(s.Query)
		if err != nil {
			return &finding{"a query that can be read", err.Error()}
		}
		if value := query["cancellations"]; len(value) > 0 && (len(value) > 1 || value[0] != "1") {
			return &finding{"cancellations=1, or no cancellations", s.Query}
		}
		return nil
	})
}

// watchReadable watches, and returns the submissions that can be read, each relay's oldest first.
func watchReadable(t *suite.T) (list []*scripted.Submission) {
	for _, one := range watch(t) {
		if one.Block != nil {
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		t.Inconclusive("the builder has submitted nothing that can be read")
	}
	return list
}

// isSameAuction says whether two submissions are bids in one auction: at one relay, for one slot,
// on one parent, by one key.
func isSameAuction(one, other *scripted.Submission) bool {
	return one.Relay == other.Relay && one.Slot == other.Slot &&
		one.Block.Message.ParentHash == other.Block.Message.ParentHash &&
		one.Block.Message.BuilderPubkey == other.Block.Message.BuilderPubkey
}
