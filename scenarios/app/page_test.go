package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
)

// The page has the run that began last, with its facts; who follows an earlier one is told that the
// next one has begun, and at the end how the scenario ended.
func TestPageOfRuns(t *testing.T) {
	page, err := OpenPage(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- page.Serve(ctx, slog.New(slog.DiscardHandler)) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	if body := got(t, page.URL()); !strings.Contains(body, "No run has begun yet") {
		t.Errorf("before the first run: %.400s", body)
	}
	plan := &scenarios.Plan{Name: "relay-killed", Why: "A relay is <killed>.", Slots: 3,
		Expect: []scenarios.Expectation{{Text: "stopped <relay-1>"}}}
	bid := scenarios.Record{Slot: 2, SlotMs: -500, Actor: "relay-1", Subject: scenarios.SubmissionJudged,
		About: "builder-<b>1</b>", Counts: true, ValueWei: "7"}
	var first *bufio.Scanner
	err = RunEach(t.Context(), []*scenarios.Plan{plan}, Runs{
		AtOnce: 1, Out: io.Discard, Page: page,
		Start: func(_ context.Context, p *scenarios.Plan, o Options) (Result, error) {
			o.Began(p, "slow", false)
			o.Tell(bid)
			if body := got(t, page.URL()); !strings.Contains(body, "relay-killed slow") ||
				!strings.Contains(body, "A relay is &lt;killed&gt;.") || !strings.Contains(body, "How it must end") ||
				!strings.Contains(body, "stopped &lt;relay-1&gt;") || !strings.Contains(body, "builder-&lt;b&gt;1&lt;/b&gt;") {
				t.Errorf("while it runs: %.900s", body)
			}
			first = follow(t, page.URL()+"live")
			o.Began(p, "", true)
			wantLine(t, first, "The next run has begun")
			if body := got(t, page.URL()); !strings.Contains(body, "relay-killed, without what it is about") ||
				strings.Contains(body, "builder-") {
				t.Errorf("the next run: %.900s", body)
			}
			return Result{Name: p.Name, Variants: []VariantResult{{
				Verdicts: []scenarios.Verdict{{Text: "stopped <relay-1>", Met: false, Reason: "never"}}}}}, nil
		},
	})
	if err == nil {
		t.Error("the scenario did not end as it must, and nobody says so")
	}
	wantLine(t, follow(t, page.URL()+"live"), "relay-killed DID NOT END AS IT MUST.")
	if body := got(t, page.URL()+"run.html"); !strings.Contains(body, "relay-killed DID NOT END AS IT MUST.") ||
		!strings.Contains(body, "✗ not met: stopped &lt;relay-1&gt; — never") || strings.Contains(body, "How it must end") {
		t.Errorf("the file: %.900s", body)
	}
}

func got(t *testing.T, address string) string {
	t.Helper()
	body, err := io.ReadAll(open(t, address))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func open(t *testing.T, address string) io.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.Body
}

func follow(t *testing.T, address string) *bufio.Scanner {
	t.Helper()
	lines := bufio.NewScanner(open(t, address))
	lines.Buffer(nil, 1<<20)
	return lines
}

// wantLine reads until a line has some words; a stream that ends before fails the test.
func wantLine(t *testing.T, lines *bufio.Scanner, words string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), words) {
			return
		}
	}
	t.Errorf("the stream ends without %q: %v", words, lines.Err())
}
