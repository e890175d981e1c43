package api

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
	// Register decides on each entry by itself: valid ones are stored, the others are returned by
	// their index in entries. It may end early when the context ends, since the client reads no answer
	// then. It does not keep entries after it returns.
	Register(ctx context.Context, at time.Time, entries []relay.SignedRegistration) relay.RegistrationFailures
}

// Headers returns top bids.
type Headers interface {
	// Header returns nil without an error if there is no bid, and a *relay.Refused for a slot that is
	// over. clientDeadline is zero if the client gave none.
	Header(ctx context.Context, at time.Time, key relay.Key, clientDeadline time.Time) (*relay.SignedBid, error)
}

// Deliverer publishes blocks that proposers signed blind.
type Deliverer interface {
	// Deliver returns the contents after publication; with reveal, only when they may be revealed.
	// Errors are *relay.Refused, or the context's.
	Deliver(ctx context.Context, at time.Time, block *relay.BlindedBlock, reveal bool) (*relay.Contents, error)
}

// ProposerConfig are the ports and rules of the handlers.
type ProposerConfig struct {
	Spec      *eth.Spec
	Clock     clock.Clock
	Registrar Registrar
	Headers   Headers
	Deliverer Deliverer
	// Bidder bids from gloas on; nil if the relay has no staked builder.
	Bidder   Bidder
	Revealer Revealer // nil with Bidder
	// Ready says whether the relay can serve proposers; if not, status answers 503.
	Ready func() bool
}

// Limits of bodies in bytes, after decompression.
const (
	maxRegistrations = 64 << 20 // 100,000 registrations in JSON
	maxBlindedBlock  = 8 << 20
)

// MountProposer adds the API to a mux.
func MountProposer(mux *serve.Mux, cfg ProposerConfig) {
	a := &proposerHandlers{cfg}
	mux.Handle(http.MethodGet, "/eth/v1/builder/status", a.status)
	mux.Handle(http.MethodPost, "/eth/v1/builder/validators", a.register)
	mux.HandleWith(http.MethodGet, "/eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}", a.header)
	mux.Handle(http.MethodPost, blindedBlocksV1, a.blindedBlockV1)
	mux.Handle(http.MethodPost, blindedBlocksV2, a.blindedBlockV2)
	mux.HandleWith(http.MethodPost,
		"/eth/v1/builder/execution_payload_bid/{slot}/{parent_hash}/{parent_root}/{pubkey}", a.payloadBid)
	mux.Handle(http.MethodPost, beaconBlocksPath, a.beaconBlock)
	mux.HandleWith(http.MethodPost, "/eth/v1/builder/builder_preferences/{pubkey}", a.builderPreferences)
}

// Paths of signed blinded blocks.
const (
	blindedBlocksV1 = "/eth/v1/builder/blinded_blocks"
	blindedBlocksV2 = "/eth/v2/builder/blinded_blocks"
)

// TakesSignedBlocks says whether proposers send signed blocks to a path. The relay must not let
// other requests hold those up.
func TakesSignedBlocks(path string) bool {
	return path == blindedBlocksV1 || path == blindedBlocksV2 || path == beaconBlocksPath
}

type proposerHandlers struct{ ProposerConfig }
