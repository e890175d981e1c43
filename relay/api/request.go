package api

import (
	"errors"
	"net/http"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// NewMux returns a mux without paths.
func NewMux() *serve.Mux {
	return &serve.Mux{NotFound: Statuses.Of(relay.NotFound.Plain()),
		NotAllowed: Statuses.Of(relay.MethodNotAllowed.Plain())}
}

// Encodings are the content encodings of request bodies.
var Encodings = []string{"gzip", "zstd"}

// Media returns the encoding of a request's body, as Content-Type says; without Content-Type it is
// JSON.
func Media(r *http.Request) (wire.Media, *relay.Refused) {
	contentType, ok := serve.ContentType(r)
	switch {
	case ok && contentType == wire.JSON.ContentType():
		return wire.JSON, nil
	case ok && contentType == wire.SSZ.ContentType():
		return wire.SSZ, nil
	default:
		return 0, relay.UnsupportedMediaType.With("%.90q", r.Header.Get("Content-Type"))
	}
}

// Body reads a body up to a limit in bytes after decompression.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *relay.Refused) {
	return BodyAsItComes(w, r, limit, func([]byte) {})
}

// BodyAsItComes reads a body as Body does, and calls arrived with what has arrived so far, see
// serve.ReadBodyAsItComes.
func BodyAsItComes(w http.ResponseWriter, r *http.Request, limit int64,
	arrived func(soFar []byte)) ([]byte, *relay.Refused) {
	body, err := serve.ReadBodyAsItComes(w, r, limit, arrived, Encodings...)
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, serve.ErrTooLarge):
		return nil, relay.BodyTooLarge.With("at most %d bytes", limit)
	case errors.Is(err, serve.ErrEncoding):
		return nil, relay.UnsupportedMediaType.With("content encoding %.90q", r.Header.Get("Content-Encoding"))
	case errors.Is(err, serve.ErrBusy):
		return nil, relay.Overloaded.Plain()
	default:
		return nil, relay.BodyUnreadable.Plain()
	}
}

// VersionHeader names the fork of a body in requests and answers (builder-specs,
// "Eth-Consensus-Version").
const VersionHeader = "Eth-Consensus-Version"

// Fork returns the fork of a body. active is the fork of its slot. The header may name the fork,
// which must be the active one; with needed the header must be there (SSZ).
func Fork(r *http.Request, active eth.Fork, needed bool) (eth.Fork, *relay.Refused) {
	if refused := namedFork(r, active, needed); refused != nil {
		return 0, refused
	}
	if !wire.Serves(active) {
		return 0, relay.UnknownFork.With("the slot is in %s, which this relay does not serve", active)
	}
	return active, nil
}

// namedFork refuses a body whose header names another fork than the active one, or none although it
// is needed.
func namedFork(r *http.Request, active eth.Fork, needed bool) *relay.Refused {
	name := r.Header.Get(VersionHeader)
	if name == "" {
		if needed {
			return relay.UnknownFork.With("the body needs %s", VersionHeader)
		}
		return nil
	}
	switch fork, err := eth.ParseFork(name); {
	case err != nil:
		return relay.UnknownFork.With("%.90q", name)
	case fork != active:
		return relay.WrongFork.With("got %s, the slot is in %s", fork, active)
	}
	return nil
}
