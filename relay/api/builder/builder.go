// Package builder is the Builder API's skin (relay-specs): it reads requests, calls its ports and
// writes answers, one file an operation.
//
//	GET  /relay/v1/builder/validators   validators.go
//	POST /relay/v1/builder/blocks       submitblock.go     the block, whole or dehydrated (hydrate.go)
//	POST /relay/v1/builder/headers      submitheader.go    the header; the block follows
//	GET  /relay/v1/builder/top_bid      topbid.go          a WebSocket: who leads
//
// X-Api-Key says who the builder is (identify.go). Nobody needs one for a whole block, and for the
// leading bids only where the operator says so.
package builder

import (
	"context"
	"net/http"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
)

// Submitter takes a submission to the auction.
type Submitter interface {
	// Submit answers with what the builder is told; errors are *relay.Refused. ahead is what was begun
	// for the submission while its body came.
	Submit(ctx context.Context, s *relay.Submission, ahead *speculate.Ahead) (relay.Outcome, error)
}

// Duties lists who will propose.
type Duties interface {
	// Duties of registered proposers in this epoch and the next, by slot. The version is never 0, and
	// never the same for two lists; nobody changes a list that has been returned.
	Duties() (duties []relay.RegisteredDuty, version uint64)
}

// Config are the skin's ports and rules.
type Config struct {
	Spec       *eth.Spec
	Clock      clock.Clock
	Submitter  Submitter
	Speculator *speculate.Speculator
	Headers    HeaderSubmitter
	Duties     Duties
	Identity   Identity
	Hydrator   Hydrator
	// TopBids is nil where leading bids are not pushed: the endpoint is not there then.
	TopBids TopBids
	// Network says what network a request comes from, as allowances are counted; nil if nobody asks.
	Network func(*http.Request) string
	// TopBidsNeedKey lets only builders with an API key listen.
	TopBidsNeedKey bool
}

// Limits of a submission in bytes after decompression: the greatest block that mainnet allows fits
// (8 MiB of block, 21 blobs).
const (
	maxJSON = 32 << 20
	MaxSSZ  = 16 << 20
)

// Mount adds the API to a mux.
func Mount(mux *serve.Mux, cfg Config) {
	a := &skin{Config: cfg}
	mux.Handle(http.MethodGet, "/relay/v1/builder/validators", a.validators)
	mux.Handle(http.MethodPost, "/relay/v1/builder/blocks", a.submitBlock)
	mux.Handle(http.MethodPost, "/relay/v1/builder/headers", a.submitHeader)
	if cfg.TopBids != nil {
		mux.Handle(http.MethodGet, "/relay/v1/builder/top_bid", a.topBid)
	}
}

type skin struct {
	Config
	list dutyList
}
