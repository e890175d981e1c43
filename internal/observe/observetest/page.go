// Package observetest shows tests what a Prometheus server would read. It is for tests only.
package observetest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Page is what Prometheus reads, without comments and without the buckets of histograms.
func Page(t testing.TB, registry prometheus.Gatherer) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text, short bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") {
			short.WriteString(line)
		}
	}
	return short.String()
}
