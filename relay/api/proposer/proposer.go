// Package proposer is the Proposer API's skin (builder-specs): it reads requests, calls its ports
// and writes answers, one file an operation. It decides nothing but the form of a request.
//
//	GET  /eth/v1/builder/status                                status.go
//	POST /eth/v1/builder/validators                            register.go
//	GET  /eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}  header.go
//	POST /eth/v1/builder/blinded_blocks                        blindedblock.go   answers with the payload
//	POST /eth/v2/builder/blinded_blocks                        blindedblock.go   answers 202
package proposer

import (
	"context"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// Registrar stores registrations.
type Registrar interface {
	// Register judges each entry by itself: good ones are stored, the others are returned by their
	// index in entries. It may end early when the context does, whose client reads no answer. The
	// entries are not kept.
	Register(ctx context.Context, at time.Time, entries []relay.SignedRegistration) relay.RegistrationFailures
}

// Headers serves the leading bid.
type Headers interface {
	// Header answers nil without an error when there is no bid, and a *relay.Refused for a slot that
	// is over. The client's deadline is zero when it gave none.
	Header(ctx context.Context, at time.Time, key relay.Key, clientDeadline time.Time) (*relay.SignedBid, error)
}

// Deliverer publishes what a proposer signed blind.
type Deliverer interface {
	// Deliver returns the contents after publication; with reveal only once they may be shown. Errors
	// are *relay.Refused, or the context's.
	Deliver(ctx context.Context, at time.Time, block *relay.BlindedBlock, reveal bool) (*relay.Contents, error)
}

// Config are the skin's ports and rules.
type Config struct {
	Spec      *eth.Spec
	Clock     clock.Clock
	Registrar Registrar
	Headers   Headers
	Deliverer Deliverer
	// Ready says whether the relay can do its work (status answers 503 otherwise).
	Ready func() bool
}

// Limits of bodies in bytes, after decompression.
const (
	maxRegistrations = 64 << 20 // 100,000 registrations in JSON
	maxBlindedBlock  = 8 << 20
)

// Mount adds the API to a mux.
func Mount(mux *serve.Mux, cfg Config) {
	a := &skin{cfg}
	mux.Handle(http.MethodGet, "/eth/v1/builder/status", a.status)
	mux.Handle(http.MethodPost, "/eth/v1/builder/validators", a.register)
	mux.Handle(http.MethodGet, "/eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}", a.header)
	mux.Handle(http.MethodPost, blindedBlocksV1, a.blindedBlockV1)
	mux.Handle(http.MethodPost, blindedBlocksV2, a.blindedBlockV2)
}

// Where signed blocks are taken.
const (
	blindedBlocksV1 = "/eth/v1/builder/blinded_blocks"
	blindedBlocksV2 = "/eth/v2/builder/blinded_blocks"
)

// TakesSignedBlocks says whether a path is one at which proposers send what they have signed:
// nothing else may be in its way.
func TakesSignedBlocks(path string) bool { return path == blindedBlocksV1 || path == blindedBlocksV2 }

type skin struct{ Config }
