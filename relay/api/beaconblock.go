package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// Revealer publishes blocks that have a bid of the relay, and reveals their payloads.
type Revealer interface {
	// Deliver returns nil when a beacon node has taken the block; errors are *relay.Refused.
	Deliver(ctx context.Context, at time.Time, block *gloas.SignedBeaconBlock) error
}

// beaconBlocksPath is where proposers send signed blocks from gloas on.
const beaconBlocksPath = "/eth/v1/builder/beacon_blocks"

// beaconBlock publishes a signed block that has a bid of the relay and answers 202 without a body;
// the payload follows in an envelope (builder-specs, gloas, submitSignedBeaconBlock).
func (a *proposerHandlers) beaconBlock(w http.ResponseWriter, r *http.Request) {
	at := a.Clock.Now()
	block, refused := readVersioned(w, r, maxBlindedBlock, gloas.Mainnet.SignedBeaconBlock.Decode,
		gloas.Mainnet.SignedBeaconBlock.FromJSON)
	switch {
	case refused != nil:
		Refuse(w, r, refused)
		return
	case a.Revealer == nil:
		Refuse(w, r, relay.PayloadUnknown.With("this relay has no staked builder"))
		return
	}
	if err := a.Revealer.Deliver(r.Context(), at, block); err != nil {
		Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
