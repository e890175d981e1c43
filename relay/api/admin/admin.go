// Package admin is the operator's skin: how builders are treated, what they were demoted for, and
// the kill switch. It is mounted on a listener of its own, never on the public one, and every path
// needs the token.
//
//	GET    /admin/v1/status                               status.go
//	GET    /admin/v1/builders                             builders.go
//	GET    /admin/v1/builders/{name}                      builders.go
//	PUT    /admin/v1/builders/{name}                      builders.go    the whole record, and why
//	DELETE /admin/v1/builders/{name}                      builders.go    back to the configuration
//	POST   /admin/v1/builders/{name}/promote | suspend    trust.go
//	GET    /admin/v1/demotions                            demotions.go
//	GET    /admin/v1/demotions/{block_hash}/submission    demotions.go   SSZ, as the builder sent it
//	GET    /admin/v1/kill-switch                          killswitch.go
//	PUT    /admin/v1/kill-switch                          killswitch.go
package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
)

// Records are how builders are treated now.
type Records interface {
	// All are the records by name.
	All() []relay.Builder
	Named(name string) (relay.Builder, bool)
}

// Changes change a builder's record. Errors say what is wrong with the change; changes are in force
// when the call returns.
type Changes interface {
	Set(at time.Time, b relay.Builder, why string) error
	Remove(at time.Time, name, why string) error
}

// Trust gives and takes the optimistic mode.
type Trust interface {
	Promote(at time.Time, name, why string) error
	Suspend(at time.Time, name, why string) error
}

// Demotions are what builders were demoted for.
type Demotions interface {
	// Demotions are the newest, the newest first.
	Demotions() []relay.BuilderDemoted
}

// Evidence is what was kept of the blocks behind demotions.
type Evidence interface {
	// Kept is nil without an error for a block that nothing was kept of.
	Kept(ctx context.Context, blockHash phase0.Hash32) (*relay.Contents, error)
}

// KillSwitch stops the serving of headers.
type KillSwitch interface {
	On() bool
	Set(at time.Time, on bool, why string)
}

// Status is what an operator sees first.
type Status struct {
	Ready         bool        `json:"ready"`
	HeadSlot      phase0.Slot `json:"head_slot,string"`
	Validators    int         `json:"validators"`
	Registrations int         `json:"registrations"`
	KillSwitch    bool        `json:"kill_switch"`
	ValidatorLive bool        `json:"validator_live"`
}

// Config are the skin's ports. Token is never empty.
type Config struct {
	Clock     clock.Clock
	Token     string
	Status    func() Status
	Records   Records
	Changes   Changes
	Trust     Trust
	Demotions Demotions
	Evidence  Evidence
	Switch    KillSwitch
	// Kept returns when all changes are kept where a restart finds them, or with an error when the
	// context ends. nil when nothing is kept.
	Kept func(context.Context) error
}

// keepTime is how long a change may take to be kept before its answer says that it is not (wall
// time).
const keepTime = 2 * time.Second

// keep says whether all changes are kept; if not, it refuses.
func (a *skin) keep(w http.ResponseWriter, r *http.Request) bool {
	if a.Kept == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), keepTime)
	defer cancel()
	if err := a.Kept(ctx); err != nil {
		api.Refuse(w, r, relay.AdminNotKept.Plain())
		return false
	}
	return true
}

// Mount adds the API to a mux.
func Mount(mux *serve.Mux, cfg Config) {
	a := &skin{cfg}
	for pattern, operation := range map[string]http.HandlerFunc{
		"GET /admin/v1/status":                            a.status,
		"GET /admin/v1/builders":                          a.builders,
		"GET /admin/v1/builders/{name}":                   a.builder,
		"PUT /admin/v1/builders/{name}":                   a.setBuilder,
		"DELETE /admin/v1/builders/{name}":                a.removeBuilder,
		"POST /admin/v1/builders/{name}/promote":          a.promote,
		"POST /admin/v1/builders/{name}/suspend":          a.suspend,
		"GET /admin/v1/demotions":                         a.demotions,
		"GET /admin/v1/demotions/{block_hash}/submission": a.submission,
		"GET /admin/v1/kill-switch":                       a.killSwitch,
		"PUT /admin/v1/kill-switch":                       a.setKillSwitch,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method, path, a.authorized(operation))
	}
}

type skin struct{ Config }

// authorized lets only those in who know the token. Hashes are compared, so that time tells nothing
// about it, not even its length.
func (a *skin) authorized(next http.HandlerFunc) http.HandlerFunc {
	want := sha256.Sum256([]byte(a.Token))
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			api.Refuse(w, r, relay.AdminToken.Plain())
			return
		}
		next(w, r)
	}
}

// maxBody bounds a request of the operator, in bytes.
const maxBody = 1 << 20

// read decodes a JSON body; nothing at all leaves the value as it is. Names that are not known are
// mistakes.
func read(w http.ResponseWriter, r *http.Request, into any) *relay.Refused {
	body, refused := api.Body(w, r, maxBody)
	if refused != nil || len(body) == 0 {
		return refused
	}
	if err := exact(body); err != nil {
		return relay.Malformed.With("%v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return relay.Malformed.With("%v", err)
	}
	return nil
}
