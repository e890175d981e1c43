package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// What the relay knew it knows again: who has registered, whom the operator trusts no more, that no headers are to be served, which slots are
// over, and the payload of a header that was served before.
func TestRestart(t *testing.T) {
	folder := t.TempDir() // before the house, which is closed before it is removed
	h := open(t, eth.Fulu, houseOptions{configure: func(c *app.Config) {
		trusting(c)
		c.DataDir = folder
	}})
	h.deliver(t, h.worth(t, 1, 1000))
	h.next(t)
	served := h.offered(t, h.worth(t, 1, 1000))
	h.admin(t, "POST /admin/v1/builders/alpha/suspend", `{"why":"maintenance"}`).wantStatus(t, http.StatusOK)
	h.admin(t, "PUT /admin/v1/kill-switch", `{"on":true,"why":"a bug"}`).wantStatus(t, http.StatusOK)
	if h.header(t) != nil {
		t.Error("a header is served although the kill switch is on")
	}

	h.restart(t)
	if got := h.admin(t, "GET /admin/v1/status", ""); !strings.Contains(string(got.body), fmt.Sprintf(`"registrations":%d`, houseValidators-1)) ||
		!strings.Contains(string(got.body), `"kill_switch":true`) {
		t.Errorf("%s", got)
	}
	if got := h.admin(t, "GET /admin/v1/builders/alpha", ""); !strings.Contains(string(got.body), `"optimistic":false`) {
		t.Errorf("%s", got)
	}
	t.Run("the payload of a header of the earlier life is delivered", func(t *testing.T) {
		h.reveal(t, v2Path, served).wantStatus(t, http.StatusAccepted)
		h.reveal(t, v1Path, served).wantStatus(t, http.StatusOK)
	})
	h.next(t)
	h.admin(t, "PUT /admin/v1/kill-switch", `{"on":false,"why":"fixed"}`).wantStatus(t, http.StatusOK)
	for _, f := range h.fronts {
		f.answers(status(http.StatusOK)) // taken, but not yet the head
	}
	late := h.worth(t, 1, 2000)
	h.deliver(t, h.worth(t, 1, 1000))
	h.restart(t)
	t.Run("S37 the slot is over for builders", func(t *testing.T) {
		poll(t, "the relay knows the slot's attributes", func() bool {
			return !strings.Contains(string(h.submit(t, late).body), relay.SubmissionNoAttributes.Short)
		})
		h.submit(t, late).wantRefusal(t, relay.SubmissionDelivered, "")
	})
}
