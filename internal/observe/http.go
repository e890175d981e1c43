package observe

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/gavel-relay/gavel/internal/serve"
)

// HTTP measures the requests of servers, and traces them if it has a tracer. It implements
// serve.Watcher.
type HTTP struct {
	tracer   trace.Tracer // nil for none
	seconds  *prometheus.HistogramVec
	received *prometheus.CounterVec
	sent     *prometheus.CounterVec
	refusals *prometheus.CounterVec
	turned   *prometheus.CounterVec
	inFlight prometheus.Gauge
	stages   *prometheus.HistogramVec
	onTheWay *prometheus.HistogramVec

	mu    sync.RWMutex // guards known
	known map[kind]series
}

// kind has the labels under which requests are counted. Their number is bounded by the numbers of
// operations, methods and classes of status.
type kind struct {
	endpoint, method, class string
}

// series are the metrics of a kind. They are kept because finding them by their labels takes longer
// than counting.
type series struct {
	seconds        prometheus.Observer
	received, sent prometheus.Counter
}

// buckets go from 50 µs to 10 s, each about twice the one before.
var buckets = prometheus.ExponentialBucketsRange(50e-6, 10, 18)

// NewHTTP adds the metrics of HTTP and of stages to a set. The tracer may be nil.
func NewHTTP(set *Set, tracer trace.Tracer) *HTTP {
	h := &HTTP{
		tracer: tracer,
		seconds: set.Histogram("gavel_http_request_seconds",
			"Time from a request's header to the end of its answer, in seconds, by path pattern, method and class of status; "+
				"499 is a client that went away before its answer.",
			buckets, "endpoint", "method", "status"),
		received: set.Counter("gavel_http_received_bytes_total", "Bytes of request bodies that were read, as sent.",
			"endpoint"),
		sent: set.Counter("gavel_http_sent_bytes_total", "Bytes of answers' bodies.", "endpoint"),
		refusals: set.Counter("gavel_http_refusals_total",
			"Requests that were answered with a refusal, by path pattern and refusal.", "endpoint", "refusal"),
		turned:   set.Counter("gavel_http_turned_away_total", turnedAwayHelp, "reason"),
		inFlight: set.Gauge("gavel_http_in_flight", "Requests that are being answered."),
		stages: set.Histogram("gavel_stage_seconds",
			"Time that one stage of a request's way took, in seconds.", buckets, "stage"),
		onTheWay: set.Histogram("gavel_http_client_to_server_seconds",
			"Time from the moment at which the client says that it sent a request (`X-Send-Ts` in RFC 3339, or "+
				"`Date-Milliseconds`) until its header was read, in seconds, by path pattern. It is as true as both clocks; "+
				"what is more than a second ahead or a minute old is not counted.",
			buckets, "endpoint"),
		known: map[kind]series{},
	}
	for _, why := range serve.AllTurnedAway { // so that rates can be computed before the first one happens
		h.turned.WithLabelValues(string(why))
	}
	return h
}

const turnedAwayHelp = "Connections and bodies that ended for others' sake: `connection-refused` (its address has " +
	"all that it may), `connection-replaced` (it " +
	"was idle, and a new one took its place), `body-without-room` (no memory for it in time), `body-cut-off` (its " +
	"memory went to another sender's), " +
	"`body-slow` (below the least rate, or too long in all)."

// TurnAway implements serve.Watcher.
func (h *HTTP) TurnAway(why serve.TurnedAway) { h.turned.WithLabelValues(string(why)).Inc() }

// Context implements serve.Watcher. Stage finds h in the context.
func (h *HTTP) Context(server context.Context) context.Context {
	return context.WithValue(server, watchKey{}, h)
}

// Begin implements serve.Watcher.
func (h *HTTP) Begin(r *http.Request) (context.Context, func(serve.Exchange)) {
	h.inFlight.Inc()
	// Every request begins a new trace. A parent from its headers would be the client's choice.
	ctx, span := r.Context(), trace.Span(nil)
	way, told := onTheWay(r.Header, time.Now)
	if ctx.Value(watchKey{}) != any(h) { // the server was not started by serve.Serve
		ctx = h.Context(ctx)
	}
	if h.tracer != nil {
		ctx, span = h.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	}
	return ctx, func(e serve.Exchange) {
		h.inFlight.Dec()
		endpoint, method := endpointOf(e.Pattern), methodOf(e.Method)
		counted := h.series(kind{endpoint, method, statusClass(e.Status)})
		counted.seconds.Observe(e.Took.Seconds())
		counted.received.Add(float64(e.Received))
		counted.sent.Add(float64(e.Sent))
		if told {
			h.onTheWay.WithLabelValues(endpoint).Observe(way.Seconds())
		}
		if e.Refusal != "" {
			h.refusals.WithLabelValues(endpoint, e.Refusal).Inc()
		}
		if span != nil {
			span.SetName(method + " " + endpoint)
			span.SetAttributes(
				attribute.String("http.request.method", method), attribute.String("http.route", endpoint),
				attribute.Int("http.response.status_code", e.Status), attribute.Int64("http.request.body.size", e.Received),
				attribute.Int64("http.response.body.size", e.Sent))
			if e.Status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, http.StatusText(e.Status))
			}
			span.End()
		}
	}
}

// endpointOf is the label of a path pattern. All unknown paths share one label, because clients may
// ask for any path.
func endpointOf(pattern string) string {
	if pattern == "" {
		return "none"
	}
	return pattern
}

// methodOf is the label of a method. Unknown methods share one label, because clients may invent
// them.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "other"
}

// classes are the labels of statuses by their first digit, made once.
var classes = [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx", "7xx", "8xx", "9xx"}

// statusClass is the label of a status. Clients that went away have their own label: mev-boost
// leaves the slower relays in every slot, which is not an error.
func statusClass(status int) string {
	if status == serve.StatusClientClosedRequest {
		return "499"
	}
	return classes[status/100%10]
}

// series finds or makes the metrics of a kind.
func (h *HTTP) series(k kind) series {
	h.mu.RLock()
	found, known := h.known[k]
	h.mu.RUnlock()
	if known {
		return found
	}
	found = series{h.seconds.WithLabelValues(k.endpoint, k.method, k.class), h.received.WithLabelValues(k.endpoint),
		h.sent.WithLabelValues(k.endpoint)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[k] = found
	return found
}
