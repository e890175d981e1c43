package api

import (
	"context"
	"net/http"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
)

// Submitter takes submissions to the auction.
type Submitter interface {
	// Submit returns the answer to the builder; errors are *relay.Refused. ahead is the work that was
	// begun for the submission while its body arrived.
	Submit(ctx context.Context, s *relay.Submission, ahead *speculate.Ahead) (relay.Outcome, error)
}

// Duties lists the next proposers.
type Duties interface {
	// Duties returns the duties of registered proposers in this epoch and the next, by slot. The
	// version is never 0, and never the same for two different lists. A returned list must not be
	// changed.
	Duties() (duties []relay.RegisteredDuty, version uint64)
}

// BuilderConfig are the ports and rules of the handlers.
type BuilderConfig struct {
	Spec       *eth.Spec
	Clock      clock.Clock
	Submitter  Submitter
	Speculator *speculate.Speculator
	Headers    HeaderSubmitter
	Duties     Duties
	Identity   Identity
	Hydrator   Hydrator
	// TopBids is nil if the relay does not stream top bids; then the endpoint does not exist.
	TopBids TopBids
	// Bids says that the relay bids under a key of its own from gloas on, and so takes blocks of it.
	Bids bool
	// StakedBids is nil if the relay takes no bids that staked builders have signed themselves; then
	// their endpoints do not exist.
	StakedBids StakedBids
	// Network returns the network that a request comes from, in the form in which allowances are
	// counted; nil if it is not needed.
	Network func(*http.Request) string
	// TopBidsNeedKey: only builders with an API key may listen to the top bids.
	TopBidsNeedKey bool
}

// Limits of a submission in bytes after decompression: the greatest block that mainnet allows fits
// (8 MiB of block, 21 blobs).
const (
	maxJSON = 32 << 20
	MaxSSZ  = 16 << 20
)

// MountBuilder adds the API to a mux.
func MountBuilder(mux *serve.Mux, cfg BuilderConfig) {
	a := &builderHandlers{BuilderConfig: cfg}
	mux.Handle(http.MethodGet, "/relay/v1/builder/validators", a.validators)
	mux.Handle(http.MethodPost, "/relay/v1/builder/blocks", a.submitBlock)
	mux.Handle(http.MethodPost, "/relay/v1/builder/headers", a.submitHeader)
	if cfg.StakedBids != nil {
		mux.Handle(http.MethodPost, "/relay/v1/builder/bids", a.submitBid)
		mux.Handle(http.MethodPost, "/relay/v1/builder/envelopes", a.signEnvelope)
	}
	if cfg.TopBids != nil {
		mux.Handle(http.MethodGet, "/relay/v1/builder/top_bid", a.topBid)
	}
}

type builderHandlers struct {
	BuilderConfig
	list dutyList
}
