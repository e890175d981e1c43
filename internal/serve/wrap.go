package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// recorder remembers what was answered, for the access log.
type recorder struct {
	http.ResponseWriter
	status int
	cause  error
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection (flush, deadlines).
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Wrap gives every request an id (X-Request-Id, the client's own if it sent a short one), an access log at debug level, and a 500 in place
// of a crash. An answer that a crash cuts short ends with its connection, so that nobody takes it for whole.
func Wrap(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := r.Header.Get("X-Request-Id")
		if id == "" || len(id) > 64 {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		recorded := &recorder{ResponseWriter: w}
		about := func() *slog.Logger { return log.With("id", id, "method", r.Method, "path", r.URL.Path) } // most requests are not logged
		defer func() {
			crash := recover()
			crashError, _ := crash.(error)
			aborted := errors.Is(crashError, http.ErrAbortHandler) // the handler's own wish to cut the answer short
			if crash != nil && !aborted {
				about().Error("handler crashed", "crash", crash, "stack", string(debug.Stack()))
			}
			cut := aborted || (crash != nil && recorded.status != 0)
			if crash != nil && !cut {
				Refuse(recorded, r, fmt.Errorf("crash: %v", crash))
			}
			access(log, about, r, recorded, time.Since(began))
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(recorded, r)
	})
}

// access writes the access log. An error of our own is worth more than debug, unless the client went away: then nobody saw it.
func access(log *slog.Logger, about func() *slog.Logger, r *http.Request, answer *recorder, took time.Duration) {
	level := slog.LevelDebug
	if answer.cause != nil && r.Context().Err() == nil {
		level = slog.LevelError
	}
	ctx := context.WithoutCancel(r.Context())
	if log.Enabled(ctx, level) {
		about().Log(ctx, level, "request", "status", answer.status, "took", took, "cause", answer.cause)
	}
}
