package observe

import "github.com/prometheus/client_golang/prometheus"

// Reading is one value of a metric, with the values of its labels.
type Reading struct {
	Value  float64
	Labels []string
}

// Readings defines a metric with labels that is read when the metrics are collected. No two
// readings may have the same labels. With a nil function only the definition is added.
func (s *Set) Readings(kind prometheus.ValueType, name, help string, read func() []Reading, labels ...string) {
	typed := map[prometheus.ValueType]string{prometheus.CounterValue: "counter", prometheus.GaugeValue: "gauge"}[kind]
	if read == nil {
		s.Definitions = append(s.Definitions, Definition{name, typed, labels, help})
		return
	}
	add(s, readings{prometheus.NewDesc(name, help, labels, nil), kind, read}, typed, name, help, labels)
}

// readings implements prometheus.Collector.
type readings struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func() []Reading
}

// Describe implements prometheus.Collector.
func (r readings) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect implements prometheus.Collector.
func (r readings) Collect(to chan<- prometheus.Metric) {
	for _, reading := range r.read() {
		to <- prometheus.MustNewConstMetric(r.desc, r.kind, reading.Value, reading.Labels...)
	}
}

// Nodes are readings of nodes by name: 1 for a node of which the map says true.
func Nodes(nodes map[string]bool) []Reading {
	list := make([]Reading, 0, len(nodes))
	for name, yes := range nodes {
		value := 0.0
		if yes {
			value = 1
		}
		list = append(list, Reading{Value: value, Labels: []string{name}})
	}
	return list
}
