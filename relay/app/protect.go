package app

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/api/builder"
	"github.com/gavel-relay/gavel/relay/api/proposer"
)

const (
	// maxClients is how many addresses are remembered for their allowance.
	maxClients = 100_000
	// maxBuilderNames bounds the allowances of builders; there are as many as the operator lists.
	maxBuilderNames = 10_000
	// leastBodyBytes is how little memory for bodies makes sense, and leastSignedBytes how little of
	// it for signed blocks.
	leastBodyBytes   = 64 << 20
	leastSignedBytes = 16 << 20
)

// protect puts allowances around the public API: a builder with an API key has its own, everybody
// else one by address. A public key in a body would be a claim, which anybody could make to use up
// another's allowance; an API key is none.
func (a *App) protect(handler http.Handler) http.Handler {
	limited := api.Statuses.Of(relay.RateLimited.Plain())
	limits := a.cfg.Limits
	byAddress := serve.ByClient(limits.TrustedProxies)
	handler = serve.Limit(handler, limiter(limits.PerSecond, limits.Burst, maxClients), func(r *http.Request) string {
		switch {
		case isHealth(r):
			// a balancer's question has an allowance of its own, so that what it forwards never makes it
			// believe that the relay is down
			return "health " + byAddress(r)
		case a.builderOf(r) != "":
			return ""
		}
		return byAddress(r)
	}, limited)
	return serve.Limit(handler, limiter(limits.BuilderPerSecond, limits.BuilderBurst, maxBuilderNames),
		a.builderOf, limited)
}

// bodies divides the memory for request bodies into three rooms, so that no load of one kind can
// keep another out: an eighth is for signed blocks, three eighths are for builders with an API key,
// the rest is everybody else's. Of each an address, or a builder with a key, has a quarter.
func (a *App) bodies() *serve.BodyBudget {
	bytes := max(a.cfg.Limits.BodyBytes, leastBodyBytes)
	room := func(bytes int64) *serve.BodyRoom { return serve.NewBodyRoom(bytes, bytes/4) }
	forSigned, forBuilders := max(bytes/8, leastSignedBytes), bytes*3/8
	signed, builders, others := room(forSigned), room(forBuilders), room(bytes-forSigned-forBuilders)
	byAddress := serve.ByClient(a.cfg.Limits.TrustedProxies)
	return &serve.BodyBudget{LeastRate: a.cfg.Limits.BodyBytesPerSecond,
		RoomOf: func(r *http.Request) (*serve.BodyRoom, string) {
			if proposer.TakesSignedBlocks(r.URL.Path) {
				return signed, byAddress(r)
			}
			if name := a.builderOf(r); name != "" {
				return builders, name
			}
			return others, byAddress(r)
		}}
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

// isHealth says whether it is a balancer that asks.
func isHealth(r *http.Request) bool { return r.URL.Path == "/livez" || r.URL.Path == "/readyz" }
