package serve

import (
	"net/http"
	"strconv"
	"time"
)

// Limit passes requests on as the limiter allows for their keys, and answers the others with the
// refusal (429) and a Retry-After header. A request with an empty key is not limited. A nil limiter
// limits nothing.
func Limit(next http.Handler, limiter *Limiter, keyOf func(*http.Request) string, refusal Refusal) http.Handler {
	if limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := keyOf(r); key != "" {
			if ok, retryAfter := limiter.Allow(time.Now(), key); !ok {
				w.Header().Set("Retry-After", RetrySeconds(retryAfter))
				Refuse(w, r, refusal)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// RetrySeconds formats a wait for Retry-After (RFC 9110, 10.2.3): whole seconds, rounded up,
// because an earlier request would be refused again.
func RetrySeconds(wait time.Duration) string {
	return strconv.FormatInt(max(int64((wait+time.Second-1)/time.Second), 1), 10)
}
