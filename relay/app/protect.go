package app

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
)

const (
	// maxClients is how many addresses are remembered for their allowance.
	maxClients = 100_000
	// maxBuilderNames bounds the allowances of builders that are remembered; the operator lists far
	// fewer.
	maxBuilderNames = 10_000
	// leastBodyBytes is the least memory for bodies, and leastSignedBytes the least of it for signed
	// blocks.
	leastBodyBytes   = 64 << 20
	leastSignedBytes = 16 << 20
)

// protect limits the rate of requests to the public API: a builder with an API key has an allowance
// of its own, all other clients one for each address. Public keys in bodies are not used for this,
// because they are only claims: anybody could use up another builder's allowance.
func (a *App) protect(handler http.Handler) http.Handler {
	limited := api.Statuses.Of(relay.RateLimited.Plain())
	limits := a.cfg.Limits
	byAddress := serve.ByClient(limits.TrustedProxies)
	handler = serve.Limit(handler, limiter(limits.PerSecond, limits.Burst, maxClients), func(r *http.Request) string {
		switch {
		case isHealth(r):
			// The health checks of a load balancer have an allowance of their own. Otherwise the requests
			// that it forwards could use up its allowance, and it would take the relay for down.
			return "health " + byAddress(r)
		case a.builderOf(r) != "":
			return ""
		}
		return byAddress(r)
	}, limited)
	return serve.Limit(handler, limiter(limits.BuilderPerSecond, limits.BuilderBurst, maxBuilderNames),
		a.builderOf, limited)
}

// bodies divides the memory for request bodies into three parts, so that load of one kind cannot
// keep out another: an eighth is for signed blocks, three eighths are for builders with an API key,
// the rest is for all others. One address, or one builder with a key, may use a quarter of its
// part.
func (a *App) bodies() *serve.BodyBudget {
	bytes := max(a.cfg.Limits.BodyBytes, leastBodyBytes)
	pool := func(bytes int64) *serve.BodyPool { return serve.NewBodyPool(bytes, bytes/4) }
	forSigned, forBuilders := max(bytes/8, leastSignedBytes), bytes*3/8
	signed, builders, others := pool(forSigned), pool(forBuilders), pool(bytes-forSigned-forBuilders)
	byAddress := serve.ByClient(a.cfg.Limits.TrustedProxies)
	return &serve.BodyBudget{LeastRate: a.cfg.Limits.BodyBytesPerSecond,
		PoolOf: func(r *http.Request) (*serve.BodyPool, string) {
			if api.TakesSignedBlocks(r.URL.Path) {
				return signed, byAddress(r)
			}
			if name := a.builderOf(r); name != "" {
				return builders, name
			}
			return others, byAddress(r)
		}}
}

// limiter returns nil if there is no bound.
func limiter(perSecond, burst, keys int) *serve.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return serve.NewLimiter(float64(perSecond), burst, keys)
}

// builderOf returns the name of the builder that has a request's API key; empty if there is none.
func (a *App) builderOf(r *http.Request) string {
	key := api.ReadAPIKey(r)
	if key == "" {
		return ""
	}
	b, _ := a.builders.ByKey(key)
	return b.Name
}

// isHealth says whether a request is a health check.
func isHealth(r *http.Request) bool { return r.URL.Path == "/livez" || r.URL.Path == "/readyz" }
