package sidecar

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeStatus adds specs about GET /eth/v1/builder/status.
func describeStatus(s *suite.Set) {
	// down makes relays unhealthy until the spec ends.
	down := func(t *suite.T, relays ...*scripted.Relay) (up func()) {
		var withdraw []func()
		for _, relay := range relays {
			withdraw = append(withdraw, relay.On(scripted.Status, nil, scripted.Refuse(http.StatusInternalServerError)))
		}
		return func() {
			for _, one := range withdraw {
				one()
			}
		}
	}
	s.It("SID-STA-01", "is healthy with healthy relays", func(t *suite.T) {
		t.Status(t.Get(client(t), statusPath), http.StatusOK)
	})
	s.It("SID-STA-02", "is healthy with one healthy relay", func(t *suite.T) {
		defer down(t, t.Relays.All[1:]...)()
		t.Status(t.Get(client(t), statusPath), http.StatusOK)
	})
	s.It("SID-STA-03", "is not healthy without a healthy relay", func(t *suite.T) {
		defer down(t, t.Relays.All...)()
		refusal(t, t.Get(client(t), statusPath), http.StatusInternalServerError, http.StatusServiceUnavailable)
	})
}
