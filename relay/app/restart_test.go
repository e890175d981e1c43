package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// What the relay knew it knows again: who has registered, whom the operator trusts no more, that no
// headers are to be served, which slots are over, and the payload of a header that was served
// before.
//
//gavel:fault restart
func TestRestart(t *testing.T) {
	folder := t.TempDir() // before the relay, which is closed before it is removed
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
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
	if got := h.admin(t, "GET /admin/v1/status", ""); !strings.Contains(string(got.body),
		fmt.Sprintf(`"registrations":%d`, validatorCount-1)) ||
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
	t.Run("REL-PAY-16 the slot is over for builders", func(t *testing.T) {
		poll(t, "the relay knows the slot's attributes", func() bool {
			return !strings.Contains(string(h.submit(t, late).body), relay.SubmissionNoAttributes.Short)
		})
		h.submit(t, late).wantRefusal(t, relay.SubmissionDelivered, "")
	})
}

// State outlives the facts that made it so: a kill switch, a suspended builder and demotions are as
// they were, however short facts are kept. The journal of a version that kept facts alone has its
// state taken over before its facts are bounded.
func TestStateOutlivesFacts(t *testing.T) {
	for name, earlier := range map[string]bool{"this version": false, "an earlier version": true} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
				trusting(c)
				c.DataDir, c.Journal.FactsFor = folder, -1
			}})
			bluff := h.worth(t, 0, 1)
			bluff.trace.Value = uint256.NewInt(2 * bluffWei)
			bluff.sign()
			h.submitted(t, bluff)
			poll(t, "the builder is demoted", func() bool { return len(h.demotions(t)) == 1 })
			h.deliver(t, h.worth(t, 1, 1000))
			h.admin(t, "POST /admin/v1/builders/alpha/suspend", `{"why":"maintenance"}`).wantStatus(t, http.StatusOK)
			h.admin(t, "PUT /admin/v1/kill-switch", `{"on":true,"why":"a bug"}`).wantStatus(t, http.StatusOK)
			must(t, h.stopRelay())
			if earlier {
				forgetState(t, folder)
			}
			h.cfg.Journal.FactsFor = 100 * time.Millisecond
			h.startRelay(t)
			for restart := range 2 {
				if got := h.admin(t, "GET /admin/v1/status", ""); !strings.Contains(string(got.body), `"kill_switch":true`) {
					t.Errorf("restart %d: %s", restart, got)
				}
				if got := h.admin(t, "GET /admin/v1/builders/alpha", ""); !strings.Contains(string(got.body),
					`"optimistic":false`) {
					t.Errorf("restart %d: %s", restart, got)
				}
				if list := h.demotions(t); len(list) != 1 || list[0].BlockHash != bluff.payload.BlockHash {
					t.Errorf("restart %d: the demotions are %+v", restart, list)
				}
				must(t, h.stopRelay())
				awaitNoFacts(t, folder)
				h.startRelay(t)
			}
		})
	}
}

// inJournal opens the journal of a relay that has ended.
func inJournal(t *testing.T, folder string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Dir: filepath.Join(folder, "journal"),
		FactsFor: 100 * time.Millisecond})
	must(t, err)
	return j
}

// awaitNoFacts returns when all facts are too old.
func awaitNoFacts(t *testing.T, folder string) {
	t.Helper()
	j := inJournal(t, folder)
	poll(t, "all facts are gone", func() bool {
		_, err := j.LastOf(t.Context(), "relay."+relay.KillSwitchChanged{}.Subject())
		return errors.Is(err, journal.ErrNotFound)
	})
	must(t, j.Close(t.Context()))
}

// forgetState leaves a folder as a version without state would.
func forgetState(t *testing.T, folder string) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(folder, "journal", "jetstream", "$G", "streams", "STATE")))
}

// State that cannot be read stops nothing, and errs on the safe side: headers are not served, and
// the builder is not trusted.
func TestStateThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.DataDir = folder
	}})
	must(t, h.stopRelay())
	j := inJournal(t, folder)
	for _, subject := range []string{"relay.kill_switch", "relay.builder.alpha", "relay.delivered", "relay.demotion.0",
		"relay.unheard-of"} {
		must(t, j.PutState(t.Context(), subject, []byte(`{"at":5`)))
	}
	must(t, j.Close(t.Context()))
	h.startRelay(t)
	if got := h.admin(t, "GET /admin/v1/status", ""); !strings.Contains(string(got.body), `"kill_switch":true`) {
		t.Errorf("%s", got)
	}
	if got := h.admin(t, "GET /admin/v1/builders/alpha", ""); !strings.Contains(string(got.body), `"optimistic":false`) {
		t.Errorf("%s", got)
	}
}
