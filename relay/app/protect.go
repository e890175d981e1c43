package app

import (
	"net/http"
	"strings"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api/builder"
)

// maxClients is how many addresses are remembered for their allowance.
const maxClients = 100_000

// maxBuilderNames bounds the allowances of builders; there are as many as the operator lists.
const maxBuilderNames = 10_000

// protect puts the bounds of what clients can take around the public API.
//
//	request ─▶ allowance of the builder (API key) or of the address ─▶ memory for its body ─▶ API
//	             429                                                     503
func (a *App) protect(api http.Handler) http.Handler {
	limits := a.cfg.Limits
	var byAddress, byBuilder *serve.Limiter
	if limits.PerSecond > 0 {
		byAddress = serve.NewLimiter(float64(limits.PerSecond), limits.Burst, maxClients)
	}
	if limits.BuilderPerSecond > 0 {
		byBuilder = serve.NewLimiter(float64(limits.BuilderPerSecond), limits.BuilderBurst, maxBuilderNames)
	}
	if limits.BodyBytes > 0 {
		api = serve.Spend(api, serve.NewBudget(max(limits.BodyBytes, maxAnyBody)), bodyLimit, relay.Busy.Plain())
	}
	return serve.Limit(api, wallNow, func(r *http.Request) (*serve.Limiter, string) {
		if r.URL.Path == "/livez" || r.URL.Path == "/readyz" {
			return nil, ""
		}
		// A public key in a body would be a claim, which anybody could make to use up another's allowance; an API key is none.
		if key := builder.APIKey(r); key != "" {
			if b, known := a.builders.ByKey(key); known {
				return byBuilder, b.Name
			}
		}
		return byAddress, serve.ClientIP(r, limits.TrustedProxies)
	}, relay.RateLimited.Plain())
}

// maxAnyBody is the greatest body that any endpoint takes, in bytes.
const maxAnyBody = 64 << 20

// bodyLimit is what a request's body may take at most, in bytes: nothing for GET.
func bodyLimit(r *http.Request) int64 {
	switch {
	case r.Method != http.MethodPost:
		return 0
	case strings.HasPrefix(r.URL.Path, "/relay/v1/builder/"):
		return builder.MaxBody
	default:
		return maxAnyBody
	}
}
