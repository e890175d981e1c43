package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay/app"
)

// A database that stops to answer, by hanging or by going away, is told to the operator once, after
// a minute, and once when the archive is up to date again. A wait of less than a minute is told to
// nobody. The auction goes on meanwhile.
func TestLateArchiveIsToldOnce(t *testing.T) {
	server := projectiontest.StartPostgres(t)
	address := server.Database(t)
	told := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alert struct{ Kind, Text string }
		if err := json.NewDecoder(r.Body).Decode(&alert); err != nil {
			t.Error(err)
		}
		told <- alert.Kind + " " + alert.Text
	}))
	t.Cleanup(hook.Close)
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		c.Database, c.Webhooks, c.AdminToken = address, []string{hook.URL}, operatorToken
	}})
	poll(t, "the archive has all facts", func() bool { return h.archiveLag(t) == 0 })
	const every = 5 * time.Second // how often the relay looks
	// look moves the clock until the relay has looked at the archive: when it waits again it has.
	look := func(after time.Duration) {
		t.Helper()
		at := h.clock.Now().Add(after)
		h.clock.Set(at)
		h.clock.waiters(at.Add(every))
	}
	look(every + 137*time.Millisecond) // nobody else waits for moments like that

	for name, outage := range map[string]struct{ away, back func(testing.TB) }{
		"hangs": {server.Pause, server.Resume}, "is gone": {server.Stop, server.Restart},
	} {
		t.Run(name, func(t *testing.T) {
			outage.away(t) // for less than a minute
			look(every)
			look(50 * time.Second)
			outage.back(t)
			poll(t, "the archive has all facts", func() bool { return h.archiveLag(t) == 0 })
			look(every)

			outage.away(t)
			look(every)
			since := h.clock.Now().UTC().Format(time.RFC3339)
			look(55 * time.Second)
			if len(told) > 0 {
				t.Errorf("told too early: %s", <-told)
			}
			look(every)
			want := fmt.Sprintf("trouble gavel: could not keep the archive up to date: the archive or the journal does not "+
				"answer, or they do not fit together, since %s", since)
			if got := <-told; got != want {
				t.Errorf("told %q, want %q", got, want)
			}
			look(time.Minute)
			look(time.Minute)
			h.get(t, "/livez", nil).wantStatus(t, http.StatusOK)

			outage.back(t)
			poll(t, "the archive has all facts", func() bool { return h.archiveLag(t) == 0 })
			look(every)
			if got, want := <-told, "trouble_over gavel: the archive is up to date again"; got != want {
				t.Errorf("told %q, want %q", got, want)
			}
			look(time.Minute)
		})
	}
	must(t, h.stopRelay())
	if len(told) > 0 {
		t.Errorf("told once more: %s", <-told)
	}
}

// archiveLag is the metric of the archive.
func (h *relayUnderTest) archiveLag(t *testing.T) (facts int) {
	t.Helper()
	_, rest, found := strings.Cut(string(h.admin(t, "GET /metrics", "").body), "\ngavel_relay_archive_lag ")
	if _, err := fmt.Sscan(rest, &facts); !found || err != nil {
		t.Fatalf("the metric is not there: %v", err)
	}
	return facts
}
