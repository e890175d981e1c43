package proposer

import (
	"net/http"
	"slices"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/request"
	"github.com/gavel-relay/gavel/relay/wire"
)

// register takes a list of signed registrations in JSON or SSZ (builder-specs, registerValidator). Good entries are stored even when others
// are bad; then the answer is 400 and names the bad ones by their place in the list.
func (a *skin) register(w http.ResponseWriter, r *http.Request) {
	media, refused := request.Media(r)
	if refused != nil {
		serve.Refuse(w, r, refused)
		return
	}
	body, refused := request.Body(w, r, maxRegistrations)
	if refused != nil {
		serve.Refuse(w, r, refused)
		return
	}
	entries, places, bad, err := wire.DecodeRegistrations(media, body)
	if err != nil {
		serve.Refuse(w, r, relay.Malformed.With("%v", err))
		return
	}
	var failures []serve.Failure
	for _, entry := range bad {
		failures = append(failures, serve.Failure{Index: entry.Index, Message: relay.Malformed.With("%v", entry.Err).Error()})
	}
	for _, failure := range a.Registrar.Register(r.Context(), a.Clock.Now(), entries) {
		failures = append(failures, serve.Failure{Index: places[failure.Index], Message: failure.Refused.Error()})
	}
	if len(failures) == 0 {
		w.WriteHeader(http.StatusOK)
		return
	}
	slices.SortFunc(failures, func(x, y serve.Failure) int { return x.Index - y.Index })
	refusal := relay.RegistrationsInvalid.With("%d of %d, first: %s", len(failures), len(entries)+len(bad), failures[0].Message)
	serve.RefuseList(w, refusal, failures)
}
