package serve

import (
	"net/http"
	"strconv"
	"time"
)

// Limit lets requests through as a limiter grants it to their keys, and answers the others with the
// refusal (429) and a Retry-After header. A request with the empty key is not limited; neither is
// any with a nil limiter.
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

// RetrySeconds is a wait as Retry-After has it (RFC 9110, 10.2.3): whole seconds, rounded up, since
// earlier would be in vain.
func RetrySeconds(wait time.Duration) string {
	return strconv.FormatInt(max(int64((wait+time.Second-1)/time.Second), 1), 10)
}
