package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// builders lists how builders are treated. API keys are never shown, only their hashes.
func (a *adminHandlers) builders(w http.ResponseWriter, r *http.Request) {
	list := a.Records.All()
	if list == nil {
		list = []relay.Builder{}
	}
	serve.JSON(w, r, http.StatusOK, list)
}

// builder answers with one record.
func (a *adminHandlers) builder(w http.ResponseWriter, r *http.Request) {
	b, known := a.Records.Named(r.PathValue("name"))
	if !known {
		Refuse(w, r, relay.BuilderUnknown.With("%.90q", r.PathValue("name")))
		return
	}
	serve.JSON(w, r, http.StatusOK, b)
}

// trustChange is a new record with the reason for it. Its name comes from the path.
type trustChange struct {
	relay.Builder
	Why string `json:"why"`
}

// setBuilder replaces a record, or adds one, and answers with it.
func (a *adminHandlers) setBuilder(w http.ResponseWriter, r *http.Request) {
	var wanted trustChange
	if refused := readExact(w, r, &wanted); refused != nil {
		Refuse(w, r, refused)
		return
	}
	name := r.PathValue("name")
	if wanted.Name != "" && wanted.Name != name {
		Refuse(w, r, relay.BuilderInvalid.With("the name is %.90q in the path and %.90q in the record", name,
			wanted.Name))
		return
	}
	wanted.Name = name
	if err := a.Changes.Set(a.Clock.Now(), wanted.Builder, wanted.Why); err != nil {
		Refuse(w, r, relay.BuilderInvalid.With("%v", err))
		return
	}
	if a.keep(w, r) {
		a.builder(w, r)
	}
}

// removeBuilder forgets what was changed at run time, so that the configuration applies again. It
// answers 204 without a body.
func (a *adminHandlers) removeBuilder(w http.ResponseWriter, r *http.Request) {
	if err := a.Changes.Remove(a.Clock.Now(), r.PathValue("name"), r.URL.Query().Get("why")); err != nil {
		Refuse(w, r, relay.BuilderUnknown.With("%.90q was not changed at run time", r.PathValue("name")))
		return
	}
	if a.keep(w, r) {
		w.WriteHeader(http.StatusNoContent)
	}
}
