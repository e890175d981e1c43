package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metric is a row of docs/metrics.md.
type metric struct {
	kind   string // counter, gauge or histogram
	labels []string
	help   string
}

// catalogue reads all metrics by name. The document is generated from the definitions in the code.
func catalogue(t testing.TB) map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]metric{}
	for line := range strings.Lines(string(text)) {
		cells := strings.SplitN(strings.Trim(strings.TrimSpace(line), "|"), "|", 4)
		if len(cells) < 4 || !strings.HasPrefix(cells[0], " `gavel_") {
			continue
		}
		var labels []string
		for _, label := range strings.Split(cells[2], ",") {
			if label = strings.Trim(label, " `"); label != "" {
				labels = append(labels, label)
			}
		}
		metrics[strings.Trim(cells[0], " `")] = metric{strings.TrimSpace(cells[1]), labels, strings.TrimSpace(cells[3])}
	}
	return metrics
}

// scraped are the labels that Prometheus adds, and le, which each histogram's buckets have.
var scraped = []string{"instance", "job", "le"}

var (
	namesIn     = regexp.MustCompile(`\b(gavel_[a-z_]+)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?`)
	selectorsIn = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"`)
	groupsIn    = regexp.MustCompile(`\bby \(([^)]*)\)`)
	countsIn    = regexp.MustCompile(`\b(?:rate|increase)\((gavel_[a-z_]+)`)
)

// metricsOf returns the catalogued metrics of an expression. It complains about one that the
// catalogue does not have, about labels that it does not have, and about rates of what is no
// counter.
func metricsOf(t testing.TB, all map[string]metric, where, expr string) (found []string) {
	t.Helper()
	var labels []string
	for _, match := range namesIn.FindAllStringSubmatch(expr, -1) {
		name, m := lookUp(all, match[1])
		if name == "" {
			t.Errorf("%s: no metric is called %s", where, match[1])
			continue
		}
		found, labels = append(found, name), append(labels, m.labels...)
		for _, selector := range selectorsIn.FindAllStringSubmatch(match[2], -1) {
			if !slices.Contains(m.labels, selector[1]) && !slices.Contains(scraped, selector[1]) {
				t.Errorf("%s: %s has no label %s", where, match[1], selector[1])
			}
		}
	}
	for _, match := range groupsIn.FindAllStringSubmatch(expr, -1) {
		for _, label := range strings.Split(match[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(labels, label) && !slices.Contains(scraped, label) {
				t.Errorf("%s: nothing in %s has a label %s", where, expr, label)
			}
		}
	}
	for _, match := range countsIn.FindAllStringSubmatch(expr, -1) {
		if _, m := lookUp(all, match[1]); m.kind == "gauge" {
			t.Errorf("%s: %s is a gauge, and has no rate", where, match[1])
		}
	}
	return found
}

// lookUp finds the metric of a series' name: a histogram has three series.
func lookUp(all map[string]metric, series string) (string, metric) {
	if m, known := all[series]; known && m.kind != "histogram" {
		return series, m
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, cut := strings.CutSuffix(series, suffix); cut && all[name].kind == "histogram" {
			return name, all[name]
		}
	}
	return "", metric{}
}

// A wrong name, a wrong label and the rate of a gauge are noticed; without that, the checks of
// boards and alerts would show nothing.
func TestWrongExpressionsAreNoticed(t *testing.T) {
	all := catalogue(t)
	if len(all) < 60 {
		t.Fatalf("%d metrics", len(all))
	}
	for expr, complaints := range map[string]int{
		"gavel_relay_head_slot":                                                        0,
		"gavel_relay_head_slots":                                                       1,
		"gavel_http_request_seconds":                                                   1, // a histogram has no such series
		`gavel_http_request_seconds_bucket{endpoint="/a/{b}",le="1"}`:                  0,
		`gavel_http_request_seconds_bucket{endpoint="/a/{b}",path="1"}`:                1,
		`sum by (builder) (rate(gavel_relay_demotions_total{rule="state"}[5m]))`:       0,
		`sum by (colour) (rate(gavel_relay_demotions_total[5m]))`:                      1,
		`rate(gavel_relay_head_slot[5m])`:                                              1,
		`rate(gavel_relay_demotions_total[5m]) / rate(gavel_relay_demotion_total[5m])`: 2,
	} {
		counted := &counting{TB: t}
		metricsOf(counted, all, "here", expr)
		if min(counted.errors, 1) != min(complaints, 1) {
			t.Errorf("%s: %d complaints, want %d", expr, counted.errors, complaints)
		}
	}
}

// counting counts errors in place of failing.
type counting struct {
	testing.TB
	errors int
}

func (c *counting) Errorf(string, ...any) { c.errors++ }
