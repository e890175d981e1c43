package api

import (
	"net/http"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Identity knows which builder has an API key. It never blocks.
type Identity interface {
	ByKey(apiKey string) (relay.Builder, bool)
}

// ReadAPIKey returns the API key of a request; empty if it has none. X-Api-Token is another relay's
// name for the header, which builders send too.
func ReadAPIKey(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	return r.Header.Get("X-Api-Token")
}

// caller is the sender of a request: the builder whose API key came with it, or an unknown one.
type caller struct {
	relay.Builder
	identified bool
}

// identify returns the sender of a request. An unknown key is refused, so that its sender learns of
// the mistake.
func (a *builderHandlers) identify(r *http.Request) (caller, *relay.Refused) {
	key := ReadAPIKey(r)
	if key == "" {
		return caller{}, nil
	}
	b, known := a.Identity.ByKey(key)
	if !known {
		return caller{}, relay.APIKeyUnknown.Plain()
	}
	return caller{b, true}, nil
}

// owns refuses a message whose public key is not one of the caller's, if an API key says who the
// caller is.
func (c caller) owns(pubkey phase0.BLSPubKey) *relay.Refused {
	if c.identified && !slices.Contains(c.Pubkeys, pubkey) {
		return relay.APIKeyOtherBuilder.With("%#x", pubkey[:])
	}
	return nil
}
