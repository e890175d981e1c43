package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Hydrator makes whole submissions from dehydrated ones, with what the same builder has sent
// before.
type Hydrator interface {
	// Fill returns the whole submission. sent are the places of the blobs that the body has. Errors
	// are, or unwrap to, *relay.Refused.
	Fill(builder string, s *relay.Submission, sent []int) (*relay.Submission, error)
	// Remember keeps the parts that later submissions of the builder may leave out.
	Remember(builder string, s *relay.Submission)
}

// SubmissionTypeHeader names the form of a submission: full or dehydrated. Without it the form is
// full.
const SubmissionTypeHeader = "X-Submission-Type"

// isWhole says whether a request has the whole submission.
func isWhole(r *http.Request) bool {
	form := r.Header.Get(SubmissionTypeHeader)
	return form == "" || form == "full"
}

// hydrate returns the whole submission. A dehydrated one needs an API key, which says whose cache
// it is filled from.
func (a *builderHandlers) hydrate(r *http.Request, from caller, s *relay.Submission) (*relay.Submission, error) {
	if isWhole(r) {
		return s, nil
	}
	if form := r.Header.Get(SubmissionTypeHeader); form != "dehydrated" {
		return nil, relay.InvalidArgument.With("%s is %.90q: want full or dehydrated", SubmissionTypeHeader, form)
	}
	if !from.identified {
		return nil, relay.APIKeyNeeded.Plain()
	}
	if !s.Fork.HasBlindedBlocks() {
		return nil, relay.UnknownFork.With("a dehydrated block of %s: send it whole", s.Fork)
	}
	sent, err := wire.ParseSent(r.Header.Get(wire.BlobsSentHeader))
	if err != nil {
		return nil, relay.SubmissionHydrationForm.With("%s: %v", wire.BlobsSentHeader, err)
	}
	return a.Hydrator.Fill(from.Name, s, sent)
}
