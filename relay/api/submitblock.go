package api

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/wire"
)

// submitBlock accepts a builder's block in JSON or SSZ, plain, gzip or zstd, whole or dehydrated
// (relay-specs, submitBlock). 200 without a body means accepted; 202 with a message means that the
// bid is at or below the floor and the block is not executed.
func (a *builderHandlers) submitBlock(w http.ResponseWriter, r *http.Request) {
	from, refused := a.identify(r)
	if refused != nil {
		answerSubmission(w, r, relay.Outcome{}, refused)
		return
	}
	submission, ahead, err := a.readSubmission(w, r, from)
	if err != nil {
		answerSubmission(w, r, relay.Outcome{}, err)
		return
	}
	outcome, err := a.Submitter.Submit(r.Context(), submission, ahead)
	answerSubmission(w, r, outcome, err)
	if err == nil && from.identified && submission.Fork.HasBlindedBlocks() {
		a.Hydrator.Remember(from.Name, submission)
	}
}

// answerSubmission writes the answer to a submission.
func answerSubmission(w http.ResponseWriter, r *http.Request, outcome relay.Outcome, err error) {
	switch {
	case err != nil:
		Refuse(w, r, err)
	case outcome.BelowFloor:
		serve.JSON(w, r, http.StatusAccepted, map[string]string{"message": "accepted bid below floor, skipped validation"})
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// readSubmission reads a request's block, and returns the work that was begun for it meanwhile.
// Errors are, or unwrap to, *relay.Refused.
func (a *builderHandlers) readSubmission(w http.ResponseWriter, r *http.Request,
	from caller) (*relay.Submission, *speculate.Ahead, error) {
	cancellable, sequence, refused := submissionOptions(r)
	if refused != nil {
		return nil, nil, refused
	}
	media, refused := Media(r)
	if refused != nil {
		return nil, nil, refused
	}
	following := a.follow(r, from, cancellable)
	var stages relay.StagesUs
	received := observe.Stage(r.Context(), observe.Receive)
	body, refused := receiveBody(w, r, media, following)
	stages.Add(observe.Receive, received())
	if refused != nil {
		return nil, nil, refused
	}
	receivedAt := a.Clock.Now()
	decoded := observe.Stage(r.Context(), observe.Decode)
	submission, err := a.decodeSubmission(r, from, media, body)
	stages.Add(observe.Decode, decoded())
	if err != nil {
		return nil, nil, err
	}
	submission.ReceivedAt, submission.Cancellable, submission.Sequence = receivedAt, cancellable, sequence
	submission.Identified, submission.Stages = from.identified, stages
	if a.Network != nil {
		submission.From = a.Network(r)
	}
	return submission, following.Ahead(), nil
}

// decodeSubmission decodes a body that has come, and fills in what a dehydrated one leaves out.
func (a *builderHandlers) decodeSubmission(r *http.Request, from caller, media wire.Media,
	body []byte) (*relay.Submission, error) {
	fork, refused := a.fork(r, media, body)
	if refused != nil {
		return nil, refused
	}
	submission, err := wire.DecodeSubmission(fork, media, body)
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	if refused := from.owns(submission.Trace.BuilderPubkey); refused != nil {
		return nil, refused
	}
	return a.hydrate(r, from, submission)
}

// receiveBody reads a body. A whole submission in SSZ is worked on while it arrives. A dehydrated
// one is not, since its body is not the block that will be signed.
func receiveBody(w http.ResponseWriter, r *http.Request, media wire.Media,
	following *speculate.Body) ([]byte, *relay.Refused) {
	switch {
	case media == wire.JSON:
		return Body(w, r, maxJSON)
	case !isWhole(r):
		return Body(w, r, MaxSSZ)
	}
	return BodyAsItComes(w, r, MaxSSZ, following.Extend)
}

// fork returns the fork of a submission. It follows from the slot, so the version header is not
// needed, not even for SSZ; deployed builders leave it out.
func (a *builderHandlers) fork(r *http.Request, media wire.Media, body []byte) (eth.Fork, *relay.Refused) {
	slot, err := wire.SlotOf(media, body)
	if err != nil {
		return 0, relay.Malformed.With("%v", err)
	}
	if active := a.Spec.ForkAt(slot); a.Bids && wire.HasBids(active) {
		return active, namedFork(r, active, false)
	}
	return Fork(r, a.Spec.ForkAt(slot), false)
}

// submissionOptions reads ?cancellations= and x-sequence.
func submissionOptions(r *http.Request) (cancellable bool, sequence uint64, refused *relay.Refused) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return false, 0, relay.InvalidArgument.With("the query cannot be read")
	}
	if text := query.Get("cancellations"); text != "" {
		if cancellable, err = strconv.ParseBool(text); err != nil {
			return false, 0, relay.InvalidArgument.With("cancellations is %.90q: want 1 or 0", text)
		}
	}
	if text := r.Header.Get("X-Sequence"); text != "" {
		if sequence, err = eth.ParseDecimal(text, 64); err != nil || sequence == 0 {
			return false, 0, relay.SubmissionSequence.With("%.90q", text)
		}
	}
	return cancellable, sequence, nil
}
