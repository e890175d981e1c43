package app

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream/client"
	"github.com/gavel-relay/gavel/stream/history"
)

const stable = orderflow.Hash | orderflow.DefaultLogs

// An order is heard by everybody who listens, and is in the history, byte for byte; what is not
// shared is nowhere, and what comes again neither.
func TestAnOrdersWay(t *testing.T) {
	j := journalOf(t)
	h := openService(t, Config{Source: j})
	plain, numbered := h.listen("/", ""), h.listen("/?ids=1", "")
	orders := []orderflow.Shared{swap(1, stable), swap(2, orderflow.Hash|orderflow.Calldata), swap(3, 0),
		swap(1, orderflow.Full), swap(4, orderflow.Full)}
	for _, order := range orders {
		share(t, j, order)
	}
	seen := []orderflow.Shared{orders[0], orders[1], orders[4]}
	var records []string
	ids := []string{"1", "2", "5"} // the numbers of their facts
	for i, order := range seen {
		if got, want := <-plain, "data: "+eventOf(t, order); got != want {
			t.Errorf("heard %s\nwant %s", got, want)
		}
		id, data := <-numbered, <-numbered
		if id != "id: "+ids[i] || data != "data: "+eventOf(t, order) {
			t.Errorf("heard %s, %s", id, data)
		}
		records = append(records, recordOf(t, order))
	}
	if got, want := h.get(200, "/api/v1/history"), "["+strings.Join(records, ",")+"]"; got != want {
		t.Errorf("history %s\nwant %s", got, want)
	}
	want := `{"count":3,"minBlock":20000001,"maxBlock":20000004,"minTimestamp":1700000001,"maxTimestamp":1700000004,"maxLimit":500}`
	if got := h.get(200, "/api/v1/history/info"); got != want {
		t.Errorf("info %s\nwant %s", got, want)
	}
	if got, want := h.get(200, "/api/v1/history?blockStart=20000002&blockEnd=20000002"), "["+records[1]+"]"; got != want {
		t.Errorf("history %s\nwant %s", got, want)
	}
	h.get(400, "/api/v1/history?limit=501")
	h.get(404, "/api/v1/histories")

	resumed := h.listen("/?ids=1", "1")
	for _, want := range []string{"id: 2", "data: " + eventOf(t, seen[1]), "id: 5", "data: " + eventOf(t, seen[2])} {
		if got := <-resumed; got != want {
			t.Errorf("resumed %s\nwant %s", got, want)
		}
	}
	begin := time.Now()
	h.stop()
	for _, lines := range []<-chan string{plain, numbered, resumed} {
		for line := range lines {
			t.Errorf("heard %s", line)
		}
	}
	t.Logf("the service stopped in %v", time.Since(begin))
}

// A service that starts again goes on: nobody who resumes misses what came meanwhile, and ids go
// on.
func TestAnotherLife(t *testing.T) {
	j, dir := journalOf(t), t.TempDir()
	first := openService(t, Config{Source: j, DataDir: dir})
	lines := first.listen("/?ids=1", "")
	share(t, j, swap(1, stable))
	if got := <-lines; got != "id: 1" {
		t.Error(got)
	}
	first.stop()
	share(t, j, swap(2, stable))
	second := openService(t, Config{Source: j, DataDir: dir})
	again := second.listen("/?ids=1", "1")
	share(t, j, swap(3, stable))
	for _, want := range []string{"id: 2", "data: " + eventOf(t, swap(2, stable)), "id: 3", "data: " +
		eventOf(t, swap(3, stable))} {
		if got := <-again; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
}

// Who comes with an id that no event has yet, as after a history that began anew, hears what comes,
// and nothing of what was before: also when the service has just started, and has told nobody
// anything.
func TestAnIDThatIsNotThereYet(t *testing.T) {
	for name, again := range map[string]bool{"the service that told them": false, "the next one": true} {
		t.Run(name, func(t *testing.T) {
			j, dir := journalOf(t), t.TempDir()
			h := openService(t, Config{Source: j, DataDir: dir})
			before := h.listen("/?ids=1", "")
			for n := range 3 {
				share(t, j, swap(n+1, stable))
			}
			for range 6 { // three events, each with its id
				<-before
			}
			if again {
				h.stop()
				h = openService(t, Config{Source: j, DataDir: dir})
			}
			var ears []<-chan string
			for _, last := range []string{"4", "999999", "18446744073709551615"} {
				ears = append(ears, h.listen("/?ids=1", last), h.listen("/?ids=1&lastEventId="+last, ""))
			}
			share(t, j, swap(4, stable))
			for i, ear := range ears {
				for _, want := range []string{"id: 4", "data: " + eventOf(t, swap(4, stable))} {
					if got := <-ear; got != want {
						t.Errorf("listener %d heard %s, want %s", i, got, want)
					}
				}
			}
			h.stop()
			for _, ear := range ears {
				for line := range ear {
					t.Errorf("heard %s", line)
				}
			}
		})
	}
}

// The journal is another's: this service reads it, over its port.
func TestAJournalElsewhere(t *testing.T) {
	port := httptest.NewServer(http.NotFoundHandler()) // a port that is free when it is closed
	address := port.Listener.Addr().String()
	port.Close()
	writer, err := journal.Open(t.Context(), journal.Config{Dir: filepath.Join(t.TempDir(), "journal"), Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	h := openService(t, Config{Journal: journal.Config{URL: "nats://" + address}})
	lines := h.listen("/", "")
	share(t, writer, swap(1, stable))
	if got, want := <-lines, "data: "+eventOf(t, swap(1, stable)); got != want {
		t.Errorf("heard %s\nwant %s", got, want)
	}
	h.stop()
	if err := writer.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Our own client pages the history, and hears what is deleted no more.
func TestRetention(t *testing.T) {
	j := journalOf(t)
	for n := range 30 {
		share(t, j, swap(n, stable))
	}
	h := openService(t, Config{Source: j, Retention: history.Retention{Blocks: 10}})
	for line := range h.listen("/?ids=1", "0") {
		if line == "id: 30" {
			break // all are stored
		}
	}
	if _, err := h.app.history.Prune(t.Context(), time.Now(), h.app.cfg.Retention); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(h.url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for record, err := range c.All(t.Context(), client.Query{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		if record.Block != 20_000_020+n {
			t.Errorf("block %d", record.Block)
		}
		n++
	}
	if info, err := c.Info(t.Context()); err != nil || n != 10 || info.Count != 10 || info.MinBlock != 20_000_020 {
		t.Errorf("%d records, %+v, %v", n, info, err)
	}
}

// The operator sees whether the service is ready, and its figures.
func TestAdmin(t *testing.T) {
	j := journalOf(t)
	h := openService(t, Config{Source: j})
	admin := httptest.NewServer(h.app.Admin())
	defer admin.Close()
	lines := h.listen("/", "")
	share(t, j, swap(1, stable))
	<-lines
	read(t, 200, admin.URL+"/livez")
	read(t, 200, admin.URL+"/readyz")
	h.get(400, "/api/v1/history?blockStart=x")
	page := read(t, 200, admin.URL+"/metrics")
	for _, want := range []string{
		"gavel_stream_listeners 1", "gavel_stream_published 1", "gavel_stream_history_events 1", "gavel_stream_history_lag 0",
		"gavel_stream_facts_skipped 0",
		`gavel_http_refusals_total{endpoint="/api/v1/history",refusal="invalid-parameter"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// A history that is away makes the service not ready, and its questions are answered with 503; the
// stream can be heard all the same.
func TestHistoryAway(t *testing.T) {
	j := journalOf(t)
	h := openService(t, Config{Source: j, Database: "postgres://nobody@127.0.0.1:1/none"})
	h.listen("/", "")
	h.get(503, "/api/v1/history/info")
	h.get(503, "/api/v1/history")
	admin := httptest.NewServer(h.app.Admin())
	defer admin.Close()
	read(t, 503, admin.URL+"/readyz")
}

func TestConfigThatMakesNoSense(t *testing.T) {
	for _, cfg := range []Config{
		{Journal: journal.Config{URL: "nats://127.0.0.1:1", Listen: "127.0.0.1:2"}},
		{Journal: journal.Config{URL: "nats://127.0.0.1:1"}},
		{Journal: journal.Config{Listen: "0.0.0.0:1"}}, {Source: &journal.Journal{}, Database: "mysql:x"},
	} {
		if app, err := New(t.Context(), cfg); err == nil {
			t.Errorf("%+v was opened: %v", cfg, app.Close())
		}
	}
}
