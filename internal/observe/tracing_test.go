package observe

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected is an OpenTelemetry collector that keeps what it is sent.
type collected struct {
	mu       sync.Mutex
	paths    []string
	services []string
	spans    []*spans.Span
}

// ServeHTTP implements the collector's side of OTLP over HTTP.
func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var export collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, r.URL.Path)
	for _, resource := range export.ResourceSpans {
		for _, attribute := range resource.Resource.Attributes {
			c.services = append(c.services, attribute.Key+"="+attribute.Value.GetStringValue())
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// A request's stages arrive as its children, in a trace of its own, whatever trace the client
// claims to be part of.
func TestSpansArriveWithTheirParents(t *testing.T) {
	sink := &collected{}
	endpoint := httptest.NewServer(sink)
	defer endpoint.Close()
	tracer, shutdown, err := Tracing(t.Context(), endpoint.URL, "relay")
	if err != nil {
		t.Fatal(err)
	}
	watch := NewHTTP(NewSet(prometheus.NewRegistry()), tracer)
	server := watched(t, watch, func(_ http.ResponseWriter, r *http.Request) {
		for _, name := range []string{Receive, Decode, Check} {
			Stage(r.Context(), name)()
		}
		Stage(context.WithoutCancel(r.Context()), Publish)() // work that outlives the request is still a part of it
	})
	send(t, "POST", server.URL+"/item/1", "")
	server.Close()
	if err := shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(sink.paths, "/v1/traces") || !slices.Contains(sink.services, "service.name=relay") {
		t.Errorf("paths %v, resources %v", sink.paths, sink.services)
	}
	root := slices.IndexFunc(sink.spans, func(s *spans.Span) bool { return s.Name == "POST /item/{id}" })
	if root < 0 || len(sink.spans) != 5 || len(sink.spans[root].ParentSpanId) != 0 {
		t.Fatalf("spans %v", sink.spans)
	}
	for _, name := range []string{Receive, Decode, Check, Publish} {
		i := slices.IndexFunc(sink.spans, func(s *spans.Span) bool { return s.Name == name })
		if i < 0 {
			t.Errorf("no span %s", name)
			continue
		}
		if string(sink.spans[i].ParentSpanId) != string(sink.spans[root].SpanId) ||
			string(sink.spans[i].TraceId) != string(sink.spans[root].TraceId) {
			t.Errorf("%s is not a child of the request", name)
		}
	}
	if got := testutil.CollectAndCount(watch.stages); got != 4 {
		t.Errorf("%d stages are measured", got)
	}
}

func TestNoEndpointNoTracing(t *testing.T) {
	tracer, shutdown, err := Tracing(t.Context(), "", "relay")
	if tracer != nil || err != nil || shutdown(t.Context()) != nil {
		t.Errorf("%v, %v", tracer, err)
	}
}

func TestTracesURL(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://localhost:4318":       "http://localhost:4318/v1/traces",
		"https://collector.example/":  "https://collector.example/v1/traces",
		"http://localhost:4318/a/b":   "http://localhost:4318/a/b",
		"localhost:4318":              "want http:// or https://",
		"http://":                     "no host",
		"http://localhost:4318\x7f/a": "invalid",
	} {
		got, err := tracesURL(endpoint)
		if err != nil {
			got = err.Error()
			if _, _, failed := Tracing(t.Context(), endpoint, "relay"); failed == nil {
				t.Errorf("%q is taken", endpoint)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", endpoint, got, want)
		}
	}
}
