package proposer

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
)

// Witness is a transport that reports what a relay answers to proposers.
type Witness struct {
	http.RoundTripper
	// Relay is the name of the relay to which requests go.
	Relay string
	// Name is the name of the agent that sends them, and Clock its clock.
	Name  string
	Clock clock.Clock
	// Tell receives an event for each answer that matters.
	Tell func(devnet.Event)
}

type askedKey struct{}

// asked is what is known of a request beside its bytes. A witness finds it in the request's
// context.
type asked struct {
	request devnet.RelayRequest
	// received is the event of a header, which is told when it is decoded; nil if there is none.
	received func(*builderspec.VersionedSignedBuilderBid)
}

// asking returns the context for a request.
func asking(ctx context.Context, request devnet.RelayRequest) (context.Context, *asked) {
	a := &asked{request: request}
	return context.WithValue(ctx, askedKey{}, a), a
}

// decoded tells of the header that came, if one did. The bid is nil if it could not be decoded.
func (a *asked) decoded(bid *builderspec.VersionedSignedBuilderBid) {
	if a.received != nil {
		a.received(bid)
	}
}

// RoundTrip implements http.RoundTripper.
func (w *Witness) RoundTrip(request *http.Request) (*http.Response, error) {
	e := devnet.Event{Actor: w.Name, At: w.Relay, Subject: devnet.RequestFailed}
	if i := strings.Index(request.URL.Path, "/header/"); i >= 0 {
		slot, _, _ := strings.Cut(request.URL.Path[i+len("/header/"):], "/")
		e.Slot, _ = strconv.Atoi(slot) // cannot fail: the path is of our own request
	}
	known, _ := request.Context().Value(askedKey{}).(*asked)
	if known != nil {
		sent := known.request
		sent.SentAt = w.Clock.Now()
		e.Fact = sent
	}
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil {
		w.Tell(e)
		return nil, err
	}
	switch path := request.URL.Path; {
	case response.StatusCode >= 400:
		e.Subject, e.Status, e.Refusal = devnet.RequestRefused, response.StatusCode, response.Header.Get("X-Refusal")
		w.Tell(e)
	case strings.Contains(path, "/header/") && response.StatusCode == http.StatusOK:
		w.header(e, known)
	case strings.Contains(path, "/header/") && response.StatusCode == http.StatusNoContent:
		e.Subject = devnet.NoHeader
		w.Tell(e)
	case strings.HasSuffix(path, "/v1/builder/validators"):
		e.Subject = devnet.RegistrationSent
		w.Tell(e)
	case strings.HasSuffix(path, "/v1/builder/blinded_blocks") && response.StatusCode == http.StatusOK:
		e.Subject = devnet.PayloadReceived
		w.Tell(e)
	case strings.HasSuffix(path, "/v2/builder/blinded_blocks"):
		e.Subject = devnet.BlockTaken
		w.Tell(e)
	}
	return response, nil
}

// header tells of a header: at once, or when whoever has asked has decoded it.
func (w *Witness) header(e devnet.Event, known *asked) {
	e.Subject = devnet.HeaderReceived
	if known == nil {
		w.Tell(e)
		return
	}
	known.received = func(bid *builderspec.VersionedSignedBuilderBid) {
		e.Fact = promised(e.Fact.(devnet.RelayRequest), bid)
		w.Tell(e)
	}
}

// promised adds to a request what the header that was served says.
func promised(request devnet.RelayRequest, bid *builderspec.VersionedSignedBuilderBid) devnet.RelayRequest {
	if bid == nil {
		return request
	}
	if value, err := bid.Value(); err == nil {
		request.ValueWei = value
	}
	if hash, err := bid.BlockHash(); err == nil {
		request.BlockHash = hash
	}
	return request
}

// askHeader is a request for a header.
func askHeader(ctx context.Context, r Relay, slot phase0.Slot, parent phase0.Hash32,
	proposer phase0.BLSPubKey) (*builderspec.VersionedSignedBuilderBid, error) {
	ctx, asked := asking(ctx, devnet.RelayRequest{Kind: devnet.HeaderRequest, Slot: slot, Proposer: proposer})
	bid, err := r.Client.Header(ctx, slot, parent, proposer)
	asked.decoded(bid)
	return bid, err
}

// askPayload is the context of a request for a block's payload.
func askPayload(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock, hash phase0.Hash32) context.Context {
	slot, err := block.Slot()
	if err != nil {
		return ctx // the request fails
	}
	ctx, _ = asking(ctx, devnet.RelayRequest{Kind: devnet.PayloadRequest, Slot: slot, BlockHash: hash})
	return ctx
}
