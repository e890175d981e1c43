package app

import (
	"net/http"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/monitor"
)

// Relay is what was seen of one relay since the monitor began.
type Relay struct {
	Name string `json:"relay"`
	// Asked counts requests for headers, Answered those with a valid answer (also a refusal), and
	// Bids those with a bid.
	Asked    int `json:"asked"`
	Answered int `json:"answered"`
	Bids     int `json:"bids"`
	// Slots counts slots that were judged, Delivered the payloads that the relay lists in them, and
	// Landed those that are the slot's block.
	Slots     int `json:"slots"`
	Delivered int `json:"delivered"`
	Landed    int `json:"landed"`
	// Faults are the numbers of findings by class.
	Faults map[monitor.Class]int `json:"faults"`
}

// kept is how many findings a report keeps.
const kept = 1000

// report collects what is seen of relays. It is safe for concurrent use.
type report struct {
	mu       sync.Mutex // guards what follows
	relays   []*Relay
	findings []monitor.Finding

	faults, others, headers, payloads *prometheus.CounterVec
}

func newReport(names []string) *report {
	r := &report{
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gavel_monitor_faults_total", Help: "Faults that were found, by relay and class.",
		}, []string{"relay", "class"}),
		others: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gavel_monitor_faults_of_others_total",
			Help: "Faults that no watched relay has made, by party (proposer or builder) and class.",
		}, []string{"party", "class"}),
		headers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gavel_monitor_headers_total",
			Help: "Headers that were asked for, by relay and result: bid, none, refused or failed.",
		}, []string{"relay", "result"}),
		payloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gavel_monitor_delivered_total",
			Help: "Payloads that relays list as delivered, by whether they are on the chain.",
		}, []string{"relay", "landed"}),
	}
	for _, name := range names {
		r.relays = append(r.relays, &Relay{Name: name, Faults: map[monitor.Class]int{}})
		for _, class := range monitor.Classes {
			r.faults.WithLabelValues(name, string(class)) // so that a class without faults shows 0
		}
	}
	return r
}

func (r *report) of(name string) *Relay {
	for _, one := range r.relays {
		if one.Name == name {
			return one
		}
	}
	return &Relay{Faults: map[monitor.Class]int{}}
}

func (r *report) countAnswer(name string, answer monitor.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, result := r.of(name), "none"
	one.Asked++
	switch {
	case answer.Refused:
		result = "refused"
	case answer.Err != nil:
		result = "failed"
	case answer.Bid != nil:
		result = "bid"
		one.Bids++
	}
	if answer.Err == nil || answer.Refused {
		one.Answered++
	}
	r.headers.WithLabelValues(name, result).Inc()
}

// slotOver counts what a relay lists of a slot; onChain is the hash of the slot's payload, zero if
// there is none.
func (r *report) slotOver(name string, list []monitor.Delivered, onChain phase0.Hash32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.of(name)
	one.Slots++
	for _, listed := range list {
		one.Delivered++
		landed := "no"
		if listed.BlockHash == onChain {
			landed = "yes"
			one.Landed++
		}
		r.payloads.WithLabelValues(name, landed).Inc()
	}
}

func (r *report) countFinding(one monitor.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case one.Proposer != nil:
		r.others.WithLabelValues("proposer", string(one.Class)).Inc()
	case one.Builder != nil:
		r.others.WithLabelValues("builder", string(one.Class)).Inc()
	default:
		r.of(one.Relay).Faults[one.Class]++
		r.faults.WithLabelValues(one.Relay, string(one.Class)).Inc()
	}
	if r.findings = append(r.findings, one); len(r.findings) > kept {
		r.findings = r.findings[len(r.findings)-kept:]
	}
}

// Relays is a copy of the report so far.
func (m *Monitor) Relays() []Relay {
	m.report.mu.Lock()
	defer m.report.mu.Unlock()
	list := make([]Relay, len(m.report.relays))
	for i, one := range m.report.relays {
		list[i] = *one
		list[i].Faults = map[monitor.Class]int{}
		for class, count := range one.Faults {
			list[i].Faults[class] = count
		}
	}
	return list
}

// Findings are the newest findings, oldest first.
func (m *Monitor) Findings() []monitor.Finding {
	m.report.mu.Lock()
	defer m.report.mu.Unlock()
	return append([]monitor.Finding{}, m.report.findings...)
}

// Handler answers GET /v1/relays and /v1/findings with JSON, /metrics with Prometheus' text, and
// /livez.
func (m *Monitor) Handler() http.Handler {
	registry := observe.NewRegistry()
	registry.MustRegister(m.report.faults, m.report.others, m.report.headers, m.report.payloads)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", observe.Handler(registry, m.cfg.Log))
	mux.HandleFunc("GET /v1/relays", func(w http.ResponseWriter, r *http.Request) {
		serve.JSON(w, r, http.StatusOK, map[string]any{"relays": m.Relays()})
	})
	mux.HandleFunc("GET /v1/findings", func(w http.ResponseWriter, r *http.Request) {
		serve.JSON(w, r, http.StatusOK, map[string]any{"findings": m.Findings()})
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}
