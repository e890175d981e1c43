package builder

import (
	"net/http"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Identity knows whose an API key is. It never blocks.
type Identity interface {
	ByKey(apiKey string) (relay.Builder, bool)
}

// APIKey is the key that a request brings, empty when it has none. X-Api-Token is another relay's
// name for it, which builders send too.
func APIKey(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	return r.Header.Get("X-Api-Token")
}

// caller is who sends a request: nobody in particular, or the builder whose API key it brings.
type caller struct {
	relay.Builder
	identified bool
}

// identify says who sends a request. A key that nobody has is refused: its owner would rather know.
func (a *skin) identify(r *http.Request) (caller, *relay.Refused) {
	key := APIKey(r)
	if key == "" {
		return caller{}, nil
	}
	b, known := a.Identity.ByKey(key)
	if !known {
		return caller{}, relay.APIKeyUnknown.Plain()
	}
	return caller{b, true}, nil
}

// owns wants the public key of a message to be one of the caller's, if an API key says who that is.
func (c caller) owns(pubkey phase0.BLSPubKey) *relay.Refused {
	if c.identified && !slices.Contains(c.Pubkeys, pubkey) {
		return relay.APIKeyOtherBuilder.With("%#x", pubkey[:])
	}
	return nil
}
