package app

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/devnet/display"
)

// pageReader reads the page when the run is over, and stops the devnet then, as Ctrl-C would.
type pageReader struct {
	watched

	stop func()
	page string
	err  error
}

// Done implements display.Output.
func (r *pageReader) Done(s display.Summary) {
	r.watched.Done(s)
	defer r.stop()
	for _, one := range r.run.Endpoints {
		if one.Name != "page" {
			continue
		}
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, one.URL, nil)
		if err != nil {
			r.err = err
			return
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			r.err = err
			return
		}
		raw, err := io.ReadAll(answer.Body)
		r.page, r.err = string(raw), err
		_ = answer.Body.Close()
	}
}

// With --web, a page shows the run and its order flow, and stays until the devnet is stopped.
func TestPage(t *testing.T) {
	cfg := testConfig(2)
	cfg.Web, cfg.OrdersPerSlot, cfg.Searchers = true, 4, 1
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &pageReader{stop: stop}
	sum, err := Run(ctx, cfg, nil, out)
	if err != nil || out.err != nil || !sum.OK() {
		t.Fatalf("%v, %v: %s", err, out.err, sum.Verdict())
	}
	for _, want := range []string{"The run is over: 2 of 2 payloads", "Slot 2: landed, builder-", "order accepted user",
		"order shared", "submission judged builder-", "top changed", "header served builder-", "payload delivered builder-",
		"slot finished builder-", ">relay</dt>"} {
		if !strings.Contains(out.page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if !strings.Contains(strings.Join(out.notes, "\n"), "the page stays until Ctrl-C: http://127.0.0.1:") {
		t.Errorf("notes %q", out.notes)
	}
}
