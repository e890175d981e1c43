package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/app"
)

// What happens is counted, timed by endpoint and stage, and traced if somebody collects.
func TestWhatHappensIsMeasured(t *testing.T) {
	var traces atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { traces.Add(1) }))
	t.Cleanup(collector.Close)
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.TraceEndpoint = collector.URL
	}})
	h.deliver(t, h.worth(t, 0, 1000))
	h.get(t, "/nonsense/0x1234", nil).wantStatus(t, http.StatusNotFound)
	page := string(h.admin(t, "GET /metrics", "").body)
	for _, want := range []string{
		`gavel_relay_payloads_delivered_total{builder="alpha"} 1`,
		`gavel_relay_bids_total{because="optimistic",builder="alpha"} 1`,
		`gavel_relay_validators 32`,
		`gavel_relay_kill_switch 0`,
		// in memory
		`gavel_relay_journal_free_bytes -1`, `gavel_relay_journal_synced_seconds_ago -1`, `gavel_relay_journal_works 1`,
		`gavel_http_request_seconds_count{endpoint="/relay/v1/builder/blocks",method="POST",status="2xx"}`,
		`gavel_stage_seconds_count{stage="decode"}`, `gavel_stage_seconds_count{stage="check"}`,
		`gavel_stage_seconds_count{stage="eligible"}`,
		`gavel_stage_seconds_count{stage="signature"} 1`, `gavel_stage_seconds_count{stage="guard"} 1`,
		`gavel_stage_seconds_count{stage="publish"} 1`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("/metrics does not have %s", want)
		}
	}
	for _, part := range []string{"facts", "escrow", "evidence"} {
		if name := "\ngavel_relay_journal_" + part + "_bytes "; !strings.Contains(page, name) ||
			strings.Contains(page, name+"-1") {
			t.Errorf("/metrics does not say what %s take", part)
		}
	}
	if strings.Contains(page, "nonsense") {
		t.Error("/metrics has a label that a client chose")
	}
	must(t, h.stopRelay()) // sends what waits
	if traces.Load() == 0 {
		t.Error("no trace has come to the collector")
	}
}
