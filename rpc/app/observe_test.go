package app

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

// The operator sees whether a journal on a disk works, and that the disk has what was answered.
func TestJournalIsMeasured(t *testing.T) {
	h, dir := openChain(t), t.TempDir()
	h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	w := httptest.NewRecorder()
	h.app.Admin().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`(?m)^gavel_rpc_journal_works 1$`, `(?m)^gavel_rpc_journal_synced_seconds_ago [0-9]`,
		`(?m)^gavel_rpc_journal_free_bytes [1-9]`,
	} {
		if !regexp.MustCompile(want).Match(w.Body.Bytes()) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}
