package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/stakedbid"
	"github.com/gavel-relay/gavel/relay/wire"
)

// StakedBids takes bids that staked builders have signed themselves. Errors are *relay.Refused.
type StakedBids interface {
	Take(ctx context.Context, offer *stakedbid.Offer) error
	// SignEnvelope takes the signature of an envelope.
	SignEnvelope(ctx context.Context, at time.Time, signed *gloas.SignedBlindedExecutionPayloadEnvelope) error
}

// maxEnvelope bounds a blinded envelope in bytes: it is 232 in SSZ, and less than 1,000 in JSON.
const maxEnvelope = 4 << 10

// submitBid takes a bid that a staked builder has signed itself, alone or with its payload, and
// answers 200 without a body (docs/gloas.md).
func (a *builderHandlers) submitBid(w http.ResponseWriter, r *http.Request) {
	if _, refused := a.identify(r); refused != nil {
		Refuse(w, r, refused)
		return
	}
	signed, refused := readBid(w, r)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	offer := &stakedbid.Offer{SignedBuilderBid: signed, ReceivedAt: a.Clock.Now()}
	if a.Network != nil {
		offer.From = a.Network(r)
	}
	if err := a.StakedBids.Take(r.Context(), offer); err != nil {
		Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// readBid reads a SignedBuilderBid. It may be as long as a block.
func readBid(w http.ResponseWriter, r *http.Request) (*gloas.SignedBuilderBid, *relay.Refused) {
	limit := func(media wire.Media) int64 {
		if media == wire.JSON {
			return maxJSON
		}
		return MaxSSZ
	}
	decode := func(media wire.Media) func([]byte) (*gloas.SignedBuilderBid, error) {
		return func(body []byte) (*gloas.SignedBuilderBid, error) { return wire.DecodeBuilderBid(media, body) }
	}
	return readVersionedUpTo(w, r, limit, decode(wire.SSZ), decode(wire.JSON))
}

// signEnvelope takes a staked builder's signature of the envelope of a payload that is here, and
// answers 202 without a body: the payload is revealed once the beacon nodes have the block.
func (a *builderHandlers) signEnvelope(w http.ResponseWriter, r *http.Request) {
	at := a.Clock.Now()
	if _, refused := a.identify(r); refused != nil {
		Refuse(w, r, refused)
		return
	}
	signed, refused := readVersioned(w, r, maxEnvelope, gloas.Mainnet.SignedBlindedEnvelope.Decode,
		gloas.Mainnet.SignedBlindedEnvelope.FromJSON)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	if err := a.StakedBids.SignEnvelope(r.Context(), at, signed); err != nil {
		Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
