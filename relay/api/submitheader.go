package api

import (
	"context"
	"net/http"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// HeaderSubmitter takes bids whose payload follows to the auction.
type HeaderSubmitter interface {
	// SubmitHeader returns the answer to the builder; errors are *relay.Refused.
	SubmitHeader(ctx context.Context, h *relay.HeaderSubmission) (relay.Outcome, error)
}

// maxHeader bounds a header submission in bytes, in either encoding: 4096 commitments and all
// execution requests fit.
const maxHeader = 8 << 20

// submitHeader accepts a bid with only the header; its block must follow to submitBlock. It needs
// an API key.
func (a *builderHandlers) submitHeader(w http.ResponseWriter, r *http.Request) {
	header, refused := a.readHeader(w, r)
	if refused != nil {
		answerSubmission(w, r, relay.Outcome{}, refused)
		return
	}
	outcome, err := a.Headers.SubmitHeader(r.Context(), header)
	answerSubmission(w, r, outcome, err)
}

func (a *builderHandlers) readHeader(w http.ResponseWriter, r *http.Request) (*relay.HeaderSubmission, *relay.Refused) {
	from, refused := a.identify(r)
	if refused != nil {
		return nil, refused
	}
	if !from.identified {
		return nil, relay.APIKeyNeeded.Plain()
	}
	cancellable, sequence, refused := submissionOptions(r)
	if refused != nil {
		return nil, refused
	}
	media, refused := Media(r)
	if refused != nil {
		return nil, refused
	}
	body, refused := Body(w, r, maxHeader)
	if refused != nil {
		return nil, refused
	}
	receivedAt := a.Clock.Now()
	fork, refused := a.fork(r, media, body)
	if refused != nil {
		return nil, refused
	}
	header, err := wire.DecodeHeaderSubmission(fork, media, body)
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	header.ReceivedAt, header.Cancellable, header.Sequence = receivedAt, cancellable, sequence
	return header, from.owns(header.Trace.BuilderPubkey)
}
