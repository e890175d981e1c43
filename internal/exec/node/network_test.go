package node

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// served is a pool with its own client on servers of this machine.
func served(t *testing.T, handlers ...http.HandlerFunc) *Pool {
	t.Helper()
	var cfg Config
	for _, handler := range handlers {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		cfg.URLs = append(cfg.URLs, server.URL)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func answering(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(goodBody)) }

// Trouble on a real connection: another node gives the verdict, and alone there is none.
func TestTroubleOnTheNetwork(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(goodBody))
		}
	}
	for name, trouble := range map[string]http.HandlerFunc{
		"status 500":      status(http.StatusInternalServerError),
		"status 404":      status(http.StatusNotFound),
		"status 202":      status(http.StatusAccepted),
		"a redirect":      status(http.StatusTemporaryRedirect),
		"garbage":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) },
		"nothing":         func(http.ResponseWriter, *http.Request) {},
		"dies":            func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"dies in between": func(w http.ResponseWriter, _ *http.Request) { abort(w) },
		"says too much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(goodBody + strings.Repeat(" ", maxAnswer)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			block := filled(eth.Fulu, 100_000, 1)
			p := served(t, trouble)
			expect(t, p.Validate(t.Context(), block), exec.Infrastructure, exec.RuleUnavailable)
			if p.Live() {
				t.Error("live")
			}
			expect(t, served(t, trouble, answering).Validate(t.Context(), block), exec.Valid, "")
		})
	}
}

func abort(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(goodBody))
	panic(http.ErrAbortHandler)
}

// One connection serves block after block.
func TestConnectionsAreKept(t *testing.T) {
	var addresses atomic.Value
	p := served(t, func(w http.ResponseWriter, r *http.Request) {
		if before := addresses.Swap(r.RemoteAddr); before != nil && before != r.RemoteAddr {
			t.Errorf("a new connection: %s after %s", r.RemoteAddr, before)
		}
		answering(w, r)
	})
	for range 5 {
		expect(t, p.Validate(t.Context(), filled(eth.Fulu, 1000, 0)), exec.Valid, "")
	}
}
