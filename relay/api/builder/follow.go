package builder

import (
	"net/http"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/speculate"
)

// follow has the body of a request worked on while it comes. The announced length says something of
// a plain body only.
func (a *skin) follow(r *http.Request, from caller, cancellable bool) *speculate.Body {
	source := speculate.Source{Cancellable: cancellable}
	if encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding == "" || encoding == "identity" {
		source.Bytes = max(r.ContentLength, 0)
	}
	if from.identified {
		source.Owns = func(builder phase0.BLSPubKey) bool { return from.owns(builder) == nil }
	}
	return a.Speculator.Follow(source)
}
