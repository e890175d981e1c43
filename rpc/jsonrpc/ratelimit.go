package jsonrpc

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

// Rate is a token bucket: PerSecond requests a second, and at most Burst at once. Burst 0 means the
// requests of one second.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Limits are the rates of a server. A request takes a token from each bucket that applies to it;
// each entry of a batch is a request. IPv6 clients share a bucket if their first 64 bits are equal.
type Limits struct {
	// Client is the rate of each client's IP: 10,000 a second if it is zero, unlimited if it is
	// negative.
	Client Rate
	// Signer is the rate of each signer, from all addresses together; zero is unlimited.
	Signer Rate
	// Methods is the rate of each client's IP for a method, by its name in the table.
	Methods map[string]Rate
	// Keys bounds the buckets of each kind that are remembered; 0 is 100,000.
	Keys int
}

// usualRate is a client's rate by default (interface description, Limits).
var usualRate = Rate{PerSecond: 10_000}

// usualKeys buckets need about 30 MB.
const usualKeys = 100_000

// limiter returns nil if the rate is unlimited.
func (r Rate) limiter(keys int) *serve.Limiter {
	if r.PerSecond <= 0 {
		return nil
	}
	if r.Burst == 0 {
		r.Burst = int(r.PerSecond)
	}
	if keys == 0 {
		keys = usualKeys
	}
	return serve.NewLimiter(r.PerSecond, r.Burst, keys)
}

// allowance is what the limits leave to one HTTP request. Only the request's goroutine uses it.
type allowance struct {
	// limit and left are those of the bucket that has the least left. left has a meaning only if
	// limit is set.
	limit, left int
	// wait is the longest time until a refused token is available; 0 if nothing was refused.
	wait time.Duration
}

// take takes a token, if there is a limiter. It refuses with RateLimited.
func (a *allowance) take(limiter *serve.Limiter, key, whose string) *rpc.Refused {
	if limiter == nil {
		return nil
	}
	left, ok, wait := limiter.Take(time.Now(), key)
	if a.limit == 0 || left < a.left {
		a.limit, a.left = limiter.Burst(), left
	}
	if ok {
		return nil
	}
	a.wait = max(a.wait, wait)
	return rpc.RateLimited.With("%s", whose)
}

// writeHeaders writes the headers by which clients pace themselves.
func (a *allowance) writeHeaders(header http.Header) {
	if a.limit > 0 {
		header.Set("X-RateLimit-Limit", strconv.Itoa(a.limit))
		header.Set("X-RateLimit-Remaining", strconv.Itoa(a.left))
	}
	if a.wait > 0 {
		header.Set("Retry-After", serve.RetrySeconds(a.wait))
	}
}
