package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// alerts is a webhook that keeps what it is told about the way of deliveries.
type alerts struct {
	mu    sync.Mutex // guards texts
	texts []string
}

func (a *alerts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var alert struct{ Kind, Text string }
	if err := json.NewDecoder(r.Body).Decode(&alert); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if alert.Kind == (relay.DeliveryPathChanged{}).Subject() {
		a.texts = append(a.texts, alert.Text)
	}
}

func (a *alerts) about(part string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range a.texts {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

// wantNotServed waits until no header is served and everybody is told why, in these words.
func (h *relayUnderTest) wantNotServed(t *testing.T, part, why string) {
	t.Helper()
	poll(t, "no header is served any more", func() bool { return h.header(t) == nil })
	got := h.get(t, "/readyz", nil)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), part) ||
		!strings.Contains(string(got.body), why) {
		t.Errorf("/readyz: %s, want 503 with %q and %q", got, part, why)
	}
	h.get(t, "/livez", nil).wantStatus(t, http.StatusOK)
	h.get(t, "/eth/v1/builder/status", nil).wantStatus(t, http.StatusServiceUnavailable)
	poll(t, "a metric shows it", func() bool {
		return strings.Contains(string(h.admin(t, "GET /metrics", "").body), `gavel_relay_delivery_path_works{part="`+part+
			`"} 0`)
	})
}

// wantServedAgain waits until a header is served and nobody is told otherwise.
func (h *relayUnderTest) wantServedAgain(t *testing.T) {
	t.Helper()
	poll(t, "headers are served again", func() bool { return h.header(t) != nil })
	h.get(t, "/readyz", nil).wantStatus(t, http.StatusOK)
	h.get(t, "/eth/v1/builder/status", nil).wantStatus(t, http.StatusOK)
	if page := string(h.admin(t, "GET /metrics", "").body); strings.Contains(page,
		`gavel_relay_delivery_path_works{part="guard"} 0`) {
		t.Error("a metric shows that the guard is away")
	}
}

// The escrow cannot be written: no header is served, since the next could not be delivered after a
// restart, and everybody is told. What was served before is delivered. All comes back by itself.
//
//gavel:fault disk-full
func TestEscrowThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir() // before the relay, which is closed before it is removed
	told := &alerts{}
	hook := httptest.NewServer(told)
	t.Cleanup(hook.Close)
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.DataDir, c.Webhooks = folder, []string{hook.URL}
	}})
	s := h.worth(t, 1, 1000)
	block := h.offered(t, s)
	place := filepath.Join(folder, "journal", "escrow")
	must(t, os.RemoveAll(place))
	h.submit(t, h.worth(t, 1, 2000)).wantRefusal(t, relay.SubmissionEscrowDown, "")
	h.wantNotServed(t, "escrow", "no such file or directory")
	h.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted)
	h.slot++
	h.attributes = h.announced(t, h.slot)

	must(t, os.MkdirAll(place, 0o700))
	poll(t, "the test of the escrow succeeds", func() bool { return h.get(t, "/readyz", nil).status == http.StatusOK })
	h.await(t)
	h.submitted(t, h.worth(t, 1, 3000))
	h.wantServedAgain(t)
	poll(t, "both changes were alerts", func() bool { return told.about("escrow") == 2 })
}

// cluster is a server of a journal, at one address through its restarts.
type cluster struct {
	options server.Options
	server  *server.Server
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{options: server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true,
		MaxPayload: 32 << 20, MaxPending: 128 << 20, JetStreamMaxStore: 1 << 40, // whatever the disk has
	}}
	t.Cleanup(func() { c.stop() })
	c.start(t)
	return c
}

func (c *cluster) start(t *testing.T) {
	t.Helper()
	options := c.options // the server changes them
	var err error
	c.server, err = server.NewServer(&options)
	must(t, err)
	c.server.Start()
	if !c.server.ReadyForConnections(30 * time.Second) {
		t.Fatal("the cluster does not start")
	}
	if c.options.Port == server.RANDOM_PORT {
		c.options.Port = options.Port
	}
}

func (c *cluster) stop() {
	c.server.Shutdown()
	c.server.WaitForShutdown()
}

// The cluster of the journal is gone: no header is served, and a proposer who has one is told by
// name what is missing, before it gives up. When the cluster is back all goes on by itself, and
// that proposer gets its payload.
//
//gavel:fault journal-away
func TestJournalThatIsAway(t *testing.T) {
	nats := startCluster(t)
	told := &alerts{}
	hook := httptest.NewServer(told)
	t.Cleanup(hook.Close)
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Journal.URL, c.Webhooks = nats.server.ClientURL(), []string{hook.URL}
		c.Journal.EscrowBytes, c.Journal.FactsBytes, c.Journal.EvidenceBytes = 256<<20, 64<<20, 64<<20
	}})
	block := h.offered(t, h.worth(t, 1, 1000))
	nats.stop()
	h.reveal(t, v1Path, block).wantRefusal(t, relay.PayloadGuardDown, "")
	h.wantNotServed(t, "guard", "no answer within 1s")
	h.submit(t, h.worth(t, 1, 2000)).wantRefusal(t, relay.SubmissionEscrowDown, "")

	nats.start(t)
	h.wantServedAgain(t)
	h.reveal(t, v1Path, block).wantStatus(t, http.StatusOK)
	h.next(t)
	h.deliver(t, h.worth(t, 1, 1000))
	poll(t, "the guard's changes were alerts", func() bool { return told.about("guard") >= 2 })
	if n := told.about("guard"); n != 2 {
		t.Errorf("%d alerts about the guard, want one when it goes and one when it is back", n)
	}
}
