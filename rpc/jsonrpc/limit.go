package jsonrpc

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

// Rate is a token bucket: so many requests a second, and at most Burst at once. Burst 0 stands for
// the requests of one second.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Limits are the rates of a server. A request costs a token of each bucket that it falls under;
// each entry of a batch is a request. An IPv6 client is its first 64 bits.
type Limits struct {
	// Client is what each client's IP may ask: 10,000 a second if it is zero, anything if it is
	// negative.
	Client Rate
	// Signer is what each signer may ask, wherever from; the zero value bounds nothing.
	Signer Rate
	// Methods is what each client's IP may ask of a method, by its name in the table.
	Methods map[string]Rate
	// Keys bounds the buckets of each kind that are remembered: 100,000.
	Keys int
}

// usualRate is a client's (interfaces, Limits).
var usualRate = Rate{PerSecond: 10_000}

// usualKeys need about 30 MB.
const usualKeys = 100_000

// limiter is nil where nothing is bounded.
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

// allowance is what the limits leave to one HTTP request. It belongs to the request's goroutine.
type allowance struct {
	// limit and left are of the bucket that has the least left; left is meant only with a limit.
	limit, left int
	// wait is the longest of those after which there is a token again; 0 if nothing was refused.
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

// writeHeaders writes the headers that clients pace themselves by.
func (a *allowance) writeHeaders(header http.Header) {
	if a.limit > 0 {
		header.Set("X-RateLimit-Limit", strconv.Itoa(a.limit))
		header.Set("X-RateLimit-Remaining", strconv.Itoa(a.left))
	}
	if a.wait > 0 {
		header.Set("Retry-After", serve.RetrySeconds(a.wait))
	}
}
