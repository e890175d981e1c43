package app

import (
	_ "embed" // bench.html
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/scenarios/figures"
)

//go:embed bench.html
var benchText string

var benchTemplate = template.Must(template.New("bench").Parse(benchText))

// picture is a figure as the page has it.
type picture struct {
	Title string
	SVG   template.HTML
}

// benchPhase is a phase of all reports as the page has it.
type benchPhase struct {
	Name     string
	Pictures []picture
}

// writeBenchPage writes one report of a load test, or several side by side, as one page that loads
// nothing.
func writeBenchPage(out io.Writer, reports []*bench.Report) error {
	page := struct {
		Reports    []*bench.Report
		Comparison *bench.Comparison
		Phases     []benchPhase
	}{Reports: reports, Comparison: bench.Compare(reports)}
	for _, phase := range page.Comparison.Phases() {
		p := benchPhase{Name: phase}
		for _, f := range phaseFigures(reports, phase, page.Comparison.Kinds(phase)) {
			svg, err := f.SVG()
			if err != nil {
				return err
			}
			text := string(svg)
			if at := strings.Index(text, "<svg"); at >= 0 {
				text = text[at:] // without what only a file begins with
			}
			// The picture's text is escaped by the library that draws it.
			p.Pictures = append(p.Pictures, picture{f.Title, template.HTML(text)})
		}
		page.Phases = append(page.Phases, p)
	}
	if err := benchTemplate.Execute(out, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// phaseFigures are the curves of a phase: for each kind its answers and latency second by second,
// and the distribution of its latency. A figure has a line for each report.
func phaseFigures(reports []*bench.Report, phase string, kinds []bench.Kind) (list []figures.Figure) {
	for _, kind := range kinds {
		rate := figures.Figure{Title: fmt.Sprintf("Good answers to %s", kind), X: "seconds", Y: "good answers/s"}
		latency := figures.Figure{Title: fmt.Sprintf("Latency of %s, second by second", kind), X: "seconds", Y: "ms"}
		spread := figures.Figure{Title: fmt.Sprintf("Latency that a share of %s did not exceed", kind), Y: "ms", Named: true}
		for i, r := range reports {
			part := r.Part(phase)
			if part == nil || part.Measure(kind) == nil || part.Measure(kind).Good == 0 {
				continue
			}
			name := r.Target
			if len(reports) > 1 {
				name = fmt.Sprintf("%d: %s", i+1, r.Target)
			}
			addCurves(part.Measure(kind), name, &rate, &latency, &spread)
		}
		for _, f := range []figures.Figure{rate, latency, spread} {
			if len(f.Series) > 0 {
				list = append(list, f)
			}
		}
	}
	return list
}

// addCurves adds what one report says of a kind.
func addCurves(m *bench.Measure, name string, rate, latency, spread *figures.Figure) {
	rates, p50 := figures.Series{Name: name, Form: figures.Line}, figures.Series{Name: name + ", p50", Form: figures.Line}
	p99 := figures.Series{Name: name + ", p99", Form: figures.Line}
	shares := figures.Series{Name: name, Form: figures.Line}
	for _, s := range m.Course {
		x := float64(s.Second - m.Course[0].Second)
		rates.Points = append(rates.Points, figures.Point{X: x, Y: s.PerSecond})
		p50.Points = append(p50.Points, figures.Point{X: x, Y: s.P50Ms})
		p99.Points = append(p99.Points, figures.Point{X: x, Y: s.P99Ms})
	}
	for i, q := range m.Latency {
		shares.Points = append(shares.Points, figures.Point{X: float64(i), Y: q.Ms, Label: fmt.Sprintf("%g %%", q.Share*100)})
	}
	if len(m.Course) > 0 {
		rate.Series, latency.Series = append(rate.Series, rates), append(latency.Series, p50, p99)
	}
	spread.Series = append(spread.Series, shares)
}
