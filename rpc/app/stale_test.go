package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// A service whose execution node has told nothing for minutes is alive, and not ready: balancers go
// to one with a better node.
func TestStaleBlockIsNotReady(t *testing.T) {
	for _, row := range []struct {
		after time.Duration
		want  int
	}{
		{5 * time.Minute, http.StatusOK}, {5*time.Minute + time.Second, http.StatusServiceUnavailable},
	} {
		h := openChain(t)
		newest := h.node.Chain().CurrentBlock().Time
		app, err := New(t.Context(), h.config(func(cfg *Config) {
			cfg.Clock = clock.NewStepped(time.Unix(int64(newest), 0).Add(row.after))
		}))
		if err != nil {
			t.Fatal(err)
		}
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			app.Admin().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return w
		}
		answer := get("/readyz")
		if says := strings.Contains(answer.Body.String(), "the newest block"); answer.Code != row.want ||
			says != (row.want != http.StatusOK) {
			t.Errorf("%s after the newest block: %d %s, want %d", row.after, answer.Code, answer.Body, row.want)
		}
		if live := get("/livez"); live.Code != http.StatusOK {
			t.Errorf("%s after the newest block: /livez is %d", row.after, live.Code)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
}
