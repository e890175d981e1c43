package app

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api/builder"
)

const (
	// maxClients is how many addresses are remembered for their allowance.
	maxClients = 100_000
	// maxBuilderNames bounds the allowances of builders; there are as many as the operator lists.
	maxBuilderNames = 10_000
	// bodyPatience is how long a body waits for its turn when too many are being read (wall time).
	bodyPatience = 250 * time.Millisecond
)

// protect puts allowances around the public API: a builder with an API key has its own, everybody else one by address. A public key in a body
// would be a claim, which anybody could make to use up another's allowance; an API key is none.
func (a *App) protect(api http.Handler) http.Handler {
	limits := a.cfg.Limits
	byAddress := serve.ByClient(limits.TrustedProxies)
	api = serve.Limit(api, limiter(limits.PerSecond, limits.Burst, maxClients), func(r *http.Request) string {
		if exempt(r) || a.builderOf(r) != "" {
			return ""
		}
		return byAddress(r)
	}, relay.RateLimited.Plain())
	return serve.Limit(api, limiter(limits.BuilderPerSecond, limits.BuilderBurst, maxBuilderNames), a.builderOf, relay.RateLimited.Plain())
}

// limiter is nil where there is no bound.
func limiter(perSecond, burst, keys int) *serve.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return serve.NewLimiter(float64(perSecond), burst, keys)
}

// builderOf is the name that belongs to a request's API key, empty when there is none.
func (a *App) builderOf(r *http.Request) string {
	key := builder.APIKey(r)
	if key == "" {
		return ""
	}
	b, _ := a.builders.ByKey(key)
	return b.Name
}

// exempt are the questions of balancers.
func exempt(r *http.Request) bool { return r.URL.Path == "/livez" || r.URL.Path == "/readyz" }
