package observe

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Definition describes a metric for the documentation.
type Definition struct {
	Name, Type string
	Labels     []string
	Help       string
}

// Set makes metrics, registers them, and remembers their definitions. It panics if a name is
// registered twice, which is a mistake in the program.
type Set struct {
	Definitions []Definition

	registry prometheus.Registerer
}

// NewSet is a set without metrics.
func NewSet(registry prometheus.Registerer) *Set { return &Set{registry: registry} }

func add[C prometheus.Collector](s *Set, collector C, kind, name, help string, labels []string) C {
	s.registry.MustRegister(collector)
	s.Definitions = append(s.Definitions, Definition{name, kind, labels, help})
	return collector
}

// Counter defines a number that only grows. The values of its labels must be bounded.
func (s *Set) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	return add(s, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels), "counter", name,
		help, labels)
}

// Histogram defines a distribution over buckets, which are upper bounds. The values of its labels
// must be bounded.
func (s *Set) Histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
	return add(s, prometheus.NewHistogramVec(opts, labels), "histogram", name, help, labels)
}

// Gauge defines a number that goes up and down.
func (s *Set) Gauge(name, help string) prometheus.Gauge {
	return add(s, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}), "gauge", name, help, nil)
}

// GaugeVec is Gauge with labels, whose values must be bounded.
func (s *Set) GaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(s, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels), "gauge", name,
		help, labels)
}

// GaugeFunc defines a number that is read when the metrics are collected. With a nil function only
// the definition is added.
func (s *Set) GaugeFunc(name, help string, read func() float64) {
	if read == nil {
		s.Definitions = append(s.Definitions, Definition{name, "gauge", nil, help})
		return
	}
	add(s, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read), "gauge", name, help, nil)
}

// Table is the definitions as a table in Markdown.
func (s *Set) Table() string {
	var b strings.Builder
	b.WriteString("| name | type | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range s.Definitions {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, labels, strings.ReplaceAll(d.Help, "|", `\|`))
	}
	return b.String()
}
