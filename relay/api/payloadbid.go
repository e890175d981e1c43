package api

import (
	"context"
	"net/http"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bidder"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Bidder makes the relay's bids from gloas on.
type Bidder interface {
	// Bid returns nil without an error if there is no bid.
	Bid(at time.Time, slot phase0.Slot, parent bidder.Parent, proposer phase0.BLSPubKey,
		auth *gloas.SignedBuilderRequestAuth) (*bidder.Bid, error)
	// SetCap keeps what a proposer counts of a payment within the payload.
	SetCap(ctx context.Context, at time.Time, proposer phase0.BLSPubKey, request *gloas.BuilderPreferencesRequest) error
}

// maxAuth bounds the body of a request for a bid, and of preferences, in bytes: 4,096 of data as
// hexadecimal digits, and the rest.
const maxAuth = 16 << 10

// payloadBid answers with the relay's bid for a slot on a parent in JSON or SSZ, or 204
// (builder-specs, gloas, getExecutionPayloadBid). A relay without a staked builder has none.
func (a *proposerHandlers) payloadBid(w http.ResponseWriter, r *http.Request, path serve.Values) {
	at := a.Clock.Now()
	if a.Bidder == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	accepted, ok := serve.Negotiate(r, wire.JSON.ContentType(), wire.SSZ.ContentType())
	if !ok {
		Refuse(w, r, relay.NotAcceptable.Plain())
		return
	}
	slot, parent, proposer, refused := parseBidPath(path)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	deadline, refused := neededDeadline(r.Header)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	auth, refused := readVersioned(w, r, maxAuth, gloas.Mainnet.SignedBuilderRequestAuth.Decode,
		gloas.Mainnet.SignedBuilderRequestAuth.FromJSON)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	bid, err := a.Bidder.Bid(at, slot, parent, proposer, auth)
	switch {
	case err != nil:
		Refuse(w, r, err)
	case bid == nil || !a.Clock.Now().Before(deadline): // after the deadline nobody reads the answer
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set(VersionHeader, eth.Gloas.String())
		raw := bid.JSON
		if accepted == wire.SSZ.ContentType() {
			raw = bid.SSZ
		}
		serve.Bytes(w, http.StatusOK, accepted, raw)
	}
}

// builderPreferences keeps the highest payment within the payload that a proposer counts, and
// answers 202 without a body (builder-specs, gloas, submitBuilderPreferences). A relay without a
// staked builder has no use for them and answers 204.
func (a *proposerHandlers) builderPreferences(w http.ResponseWriter, r *http.Request, path serve.Values) {
	if a.Bidder == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var proposer phase0.BLSPubKey
	if err := eth.ParseHex(path[0], proposer[:]); err != nil {
		Refuse(w, r, relay.InvalidPubkey.With("%v", err))
		return
	}
	request, refused := readVersioned(w, r, maxAuth, gloas.Mainnet.BuilderPreferencesRequest.Decode,
		gloas.Mainnet.BuilderPreferencesRequest.FromJSON)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	if err := a.Bidder.SetCap(r.Context(), a.Clock.Now(), proposer, request); err != nil {
		Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// readVersioned reads a body in JSON or SSZ, which needs the version header.
func readVersioned[T any](w http.ResponseWriter, r *http.Request, limit int64,
	ssz, json func([]byte) (*T, error)) (*T, *relay.Refused) {
	return readVersionedUpTo(w, r, func(wire.Media) int64 { return limit }, ssz, json)
}

// readVersionedUpTo is readVersioned with a limit for each encoding, in bytes.
func readVersionedUpTo[T any](w http.ResponseWriter, r *http.Request, limit func(wire.Media) int64,
	ssz, json func([]byte) (*T, error)) (*T, *relay.Refused) {
	media, refused := Media(r)
	if refused != nil {
		return nil, refused
	}
	if refused := namedFork(r, eth.Gloas, true); refused != nil {
		return nil, refused
	}
	body, refused := Body(w, r, limit(media))
	if refused != nil {
		return nil, refused
	}
	read := json
	if media == wire.SSZ {
		read = ssz
	}
	value, err := read(body)
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	return value, nil
}

// parseBidPath reads slot, parent and proposer. It checks them in the order of parseKey.
func parseBidPath(path serve.Values) (slot phase0.Slot, parent bidder.Parent, proposer phase0.BLSPubKey,
	refused *relay.Refused) {
	key, refused := parseKey(path[0], path[1], path[3])
	if refused != nil {
		return 0, parent, proposer, refused
	}
	parent.Hash = key.ParentHash
	if err := eth.ParseHex(path[2], parent.Root[:]); err != nil {
		return 0, parent, proposer, relay.InvalidHash.With("parent_root: %v", err)
	}
	return key.Slot, parent, key.Proposer, nil
}

// neededDeadline returns when the client stops waiting. Unlike getHeader, a request for a bid needs
// both headers (builder-specs, gloas).
func neededDeadline(h http.Header) (time.Time, *relay.Refused) {
	deadline := clientDeadline(h)
	if deadline.IsZero() {
		return deadline, relay.InvalidDeadline.With("Date-Milliseconds %.30q, X-Timeout-Ms %.30q",
			h.Get("Date-Milliseconds"), h.Get("X-Timeout-Ms"))
	}
	return deadline, nil
}
