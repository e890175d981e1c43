package api

import (
	"net/http"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/speculate"
)

// follow begins speculation on the body of a request while it arrives. The announced length is used
// for a plain body only, since it is the length before decompression.
func (a *builderHandlers) follow(r *http.Request, from caller, cancellable bool) *speculate.Body {
	source := speculate.Source{Cancellable: cancellable}
	if encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding == "" || encoding == "identity" {
		source.Bytes = max(r.ContentLength, 0)
	}
	if from.identified {
		source.Owns = func(builder phase0.BLSPubKey) bool { return from.owns(builder) == nil }
	}
	return a.Speculator.Follow(source)
}
