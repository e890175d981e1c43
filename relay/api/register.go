package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// register accepts a list of signed registrations in JSON or SSZ (builder-specs,
// registerValidator). Valid entries are stored even if others are refused; then the answer is 400
// and lists the first hundred refused ones by their place in the list.
func (a *proposerHandlers) register(w http.ResponseWriter, r *http.Request) {
	media, refused := Media(r)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	body, refused := Body(w, r, maxRegistrations)
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	batch, err := wire.DecodeRegistrations(media, body)
	switch {
	case errors.Is(err, wire.ErrTooManyRegistrations):
		Refuse(w, r, relay.RegistrationsTooMany.With("at most %d", wire.MaxRegistrations))
		return
	case err != nil:
		Refuse(w, r, relay.Malformed.With("%v", err))
		return
	}
	failed := a.Registrar.Register(r.Context(), a.Clock.Now(), batch.Entries)
	if failed.Count+batch.BadCount == 0 {
		w.WriteHeader(http.StatusOK)
		return
	}
	failures := listFailures(batch, failed)
	refused = relay.RegistrationsInvalid.With("%d of %d, first: %s",
		failed.Count+batch.BadCount, len(batch.Entries)+batch.BadCount, failures[0].Message)
	if more := failed.Count + batch.BadCount - len(failures); more > 0 {
		refused = relay.RegistrationsInvalid.With("%d of %d, the first %d are listed and %d more are not, first: %s",
			failed.Count+batch.BadCount, len(batch.Entries)+batch.BadCount, len(failures), more, failures[0].Message)
	}
	serve.RefuseList(w, Statuses.Of(refused), failures)
}

// listFailures returns the failures that the answer lists: the first ones, by place, of those that
// could not be decoded and those that were refused.
func listFailures(batch *wire.Registrations, failed relay.RegistrationFailures) (failures []serve.Failure) {
	for _, bad := range batch.Bad {
		failures = append(failures, serve.Failure{Index: bad.Index, Message: relay.Malformed.With("%v", bad.Err).Error()})
	}
	for _, failure := range failed.First {
		failures = append(failures, serve.Failure{Index: batch.BodyIndex(failure.Index), Message: failure.Refused.Error()})
	}
	slices.SortFunc(failures, func(x, y serve.Failure) int { return x.Index - y.Index })
	return failures[:min(len(failures), relay.MaxListedFailures)]
}
