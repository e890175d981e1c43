package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client that goes away while its request waits is nobody's failure: no 5xx, and no error in the
// log. What fails for another reason stays one, and a server that stops says so.
func TestClientThatLeaves(t *testing.T) {
	waits := func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		Refuse(w, r, fmt.Errorf("wait: %w", r.Context().Err()))
	}
	fails := func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		Refuse(w, r, errors.New("out of paper"))
	}
	stopped := make(chan struct{})
	close(stopped)
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		stop    <-chan struct{}
		want    int
		logged  string
	}{
		"it leaves":                {waits, nil, StatusClientClosedRequest, ""},
		"something fails too":      {fails, nil, http.StatusInternalServerError, "out of paper"},
		"the server stops, it not": {waits, stopped, http.StatusServiceUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			w := &watching{}
			handler := Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Watcher: w}.Wrap(row.handler)
			ctx, leave := context.WithCancel(context.WithValue(t.Context(), stopKey{}, row.stop))
			leave()
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
			if w.seen.Status != row.want {
				t.Errorf("status %d, want %d", w.seen.Status, row.want)
			}
			if strings.Contains(log.String(), "ERROR") || !strings.Contains(log.String(), row.logged) {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// watching keeps the last exchange.
type watching struct{ seen Exchange }

func (w *watching) Context(server context.Context) context.Context { return server }

func (w *watching) TurnAway(TurnedAway) {}

func (w *watching) Begin(r *http.Request) (context.Context, func(Exchange)) {
	return r.Context(), func(e Exchange) { w.seen = e }
}
