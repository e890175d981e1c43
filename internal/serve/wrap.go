package serve

import (
	"crypto/rand"
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
// of a crash.
func Wrap(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := r.Header.Get("X-Request-Id")
		if id == "" || len(id) > 64 {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		recorded := &recorder{ResponseWriter: w}
		defer func() {
			if crash := recover(); crash != nil {
				log.Error("handler crashed", "id", id, "path", r.URL.Path, "crash", crash, "stack", string(debug.Stack()))
				if recorded.status == 0 {
					Refuse(recorded, r, fmt.Errorf("crash: %v", crash))
				}
			}
			level := slog.LevelDebug
			if recorded.cause != nil {
				level = slog.LevelError
			}
			log.Log(r.Context(), level, "request", "id", id, "method", r.Method, "path", r.URL.Path, "status", recorded.status,
				"took", time.Since(began), "cause", recorded.cause)
		}()
		next.ServeHTTP(recorded, r)
	})
}
