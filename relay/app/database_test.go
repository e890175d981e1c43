package app_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

func TestMain(m *testing.M) {
	if told := os.Getenv(victimEnv); told != "" {
		if err := runVictim(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(projectiontest.Main(m))
}

// While the database is down bids are taken, headers served and payloads delivered; the Data API
// says that it cannot answer; and when the database is back, it has everything once. A relay also
// starts without it, and knows who has registered.
func TestDatabaseDown(t *testing.T) {
	server := projectiontest.StartPostgres(t)
	address := server.Database(t)
	folder := t.TempDir() // before the relay, which is closed before it is removed
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		c.DataDir, c.Database, c.AdminToken = folder, address, operatorToken
	}})
	first := h.worth(t, 0, 1000)
	h.deliver(t, first)
	poll(t, "the delivery is listed", func() bool { return h.deliveries(t) == 1 })

	server.Stop(t)
	h.next(t)
	h.deliver(t, h.worth(t, 1, 1000))
	poll(t, "the Data API says that it cannot answer", func() bool {
		return h.get(t, deliveredPath, nil).status == http.StatusServiceUnavailable
	})
	h.get(t, deliveredPath, nil).wantRefusal(t, relay.ArchiveUnavailable, "")

	h.restart(t)
	if got := h.admin(t, "GET /admin/v1/status", ""); !strings.Contains(string(got.body),
		fmt.Sprintf(`"registrations":%d`, validatorCount-1)) {
		t.Errorf("started without the database: %s", got)
	}
	h.next(t)
	h.deliver(t, h.worth(t, 0, 1000))

	server.Restart(t)
	poll(t, "the archive catches up", func() bool { return h.deliveries(t) >= 3 })
	if got := h.deliveries(t); got != 3 {
		t.Errorf("%d deliveries are listed, want 3", got)
	}
}

// deliveries is how many the Data API lists, -1 when it does not answer.
func (h *relayUnderTest) deliveries(t *testing.T) int {
	t.Helper()
	got := h.get(t, deliveredPath, nil)
	if got.status != http.StatusOK {
		return -1
	}
	return strings.Count(string(got.body), `"block_hash"`)
}
