package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
)

func TestDocs(t *testing.T) {
	set := NewSet(prometheus.NewRegistry())
	Build(set, "relay", "")
	NewHTTP(set, nil)
	golden.Section(t, "../../docs/metrics.md", "every service", set.Table())
}

type refusal int

func (r refusal) Error() string   { return http.StatusText(int(r)) }
func (r refusal) HTTPStatus() int { return int(r) }

func (r refusal) RefusalID() string { return fmt.Sprint("status-", int(r)) }

// watched is a server whose requests are measured.
func watched(t *testing.T, watch *HTTP, operation http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := &serve.Mux{NotFound: refusal(404), NotAllowed: refusal(405)}
	mux.Handle("POST", "/item/{id}", operation)
	server := httptest.NewServer(serve.Options{Watcher: watch}.Wrap(mux))
	t.Cleanup(server.Close)
	return server
}

func send(t *testing.T, method, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
}

// Whatever clients ask for, the labels are the server's own words.
func TestLabelsAreNotTheClients(t *testing.T) {
	registry := prometheus.NewRegistry()
	watch := NewHTTP(NewSet(registry), nil)
	server := watched(t, watch, func(w http.ResponseWriter, r *http.Request) {
		if got := testutil.ToFloat64(watch.inFlight); got != 1 {
			t.Errorf("%v requests are in flight", got)
		}
		body, err := serve.ReadBody(w, r, 100)
		if err != nil {
			t.Error(err)
		}
		serve.Bytes(w, http.StatusAccepted, "text/plain", append(body, body...))
	})
	for i, path := range []string{"/item/1", "/item/2", "/item/%2f", "/elsewhere", "/item/3/4", "/elsewhere/2"} {
		send(t, "POST", server.URL+path, "12345")
		send(t, fmt.Sprint("BREW", i), server.URL+path, "")
	}
	server.Close() // so that all are done
	if got := testutil.ToFloat64(watch.inFlight); got != 0 {
		t.Errorf("%v requests are in flight at the end", got)
	}
	if got := testutil.CollectAndCount(watch.seconds); got != 4 {
		t.Errorf("%d series, want 4: two endpoints, two methods, two classes of status", got)
	}
	want := `
# HELP gavel_http_received_bytes_total Bytes of request bodies that were read, as sent.
# TYPE gavel_http_received_bytes_total counter
gavel_http_received_bytes_total{endpoint="/item/{id}"} 10
gavel_http_received_bytes_total{endpoint="none"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "gavel_http_received_bytes_total"); err != nil {
		t.Error(err)
	}
	want = `
# HELP gavel_http_refusals_total Requests that were answered with a refusal, by path pattern and refusal.
# TYPE gavel_http_refusals_total counter
gavel_http_refusals_total{endpoint="/item/{id}",refusal="status-405"} 2
gavel_http_refusals_total{endpoint="none",refusal="status-404"} 8
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "gavel_http_refusals_total"); err != nil {
		t.Error(err)
	}
}

// Clients that went away are no errors of the service: whoever counts 5xx, or 4xx, does not count
// them.
func TestClientsThatLeftAreAClassOfTheirOwn(t *testing.T) {
	for status, want := range map[int]string{200: "2xx", 404: "4xx", serve.StatusClientClosedRequest: "499", 503: "5xx"} {
		if got := statusClass(status); got != want {
			t.Errorf("%d is counted as %s, want %s", status, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	if first, last := buckets[0], buckets[len(buckets)-1]; first != 50e-6 || last < 9.999 || last > 10.001 {
		t.Errorf("buckets from %v to %v s", first, last)
	}
}

// The page tells of the process, and of the metrics that somebody defined.
func TestMetricsPage(t *testing.T) {
	registry := NewRegistry()
	NewHTTP(NewSet(registry), nil).TurnAway(serve.BodySlow)
	answer := httptest.NewRecorder()
	Handler(registry, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, name := range []string{
		"go_goroutines", "go_build_info", "gavel_http_in_flight 0",
		`gavel_http_turned_away_total{reason="body-slow"} 1`, `gavel_http_turned_away_total{reason="connection-refused"} 0`,
	} {
		if !strings.Contains(answer.Body.String(), name) {
			t.Errorf("the page has no %s", name)
		}
	}
}

// Nobody watches: a stage costs no memory.
func TestStageIsFreeWhenOff(t *testing.T) {
	ctx := context.WithValue(t.Context(), struct{ name string }{"other"}, 1)
	if allocations := testing.AllocsPerRun(100, func() { Stage(ctx, Decode)() }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkStage(b *testing.B) {
	watch := NewHTTP(NewSet(prometheus.NewRegistry()), nil)
	on, done := watch.Begin(httptest.NewRequest("GET", "/", nil))
	defer done(serve.Exchange{})
	for name, ctx := range map[string]context.Context{"off": b.Context(), "measured": on} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Stage(ctx, Decode)()
			}
		})
	}
}
