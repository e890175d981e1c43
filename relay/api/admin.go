package api

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
)

// Records are how builders are treated now.
type Records interface {
	// All returns the records, sorted by name.
	All() []relay.Builder
	Named(name string) (relay.Builder, bool)
}

// Changes change a builder's record. Errors say what is wrong with the change. A change is in force
// when the call returns.
type Changes interface {
	Set(at time.Time, b relay.Builder, why string) error
	Remove(at time.Time, name, why string) error
}

// Trust starts and ends the optimistic mode of builders.
type Trust interface {
	Promote(at time.Time, name, why string) error
	Suspend(at time.Time, name, why string) error
}

// Demotions lists demotions.
type Demotions interface {
	// Demotions returns the last demotions, the newest first.
	Demotions() []relay.BuilderDemoted
}

// Evidence has the blocks that builders were demoted for.
type Evidence interface {
	// Kept returns nil without an error for a block that was not kept.
	Kept(ctx context.Context, blockHash phase0.Hash32) (*relay.Contents, error)
}

// KillSwitch stops the serving of headers.
type KillSwitch interface {
	On() bool
	Set(at time.Time, on bool, why string)
}

// Status is a summary of the relay's state.
type Status struct {
	Ready         bool        `json:"ready"`
	HeadSlot      phase0.Slot `json:"head_slot,string"`
	Validators    int         `json:"validators"`
	Registrations int         `json:"registrations"`
	KillSwitch    bool        `json:"kill_switch"`
	ValidatorLive bool        `json:"validator_live"`
}

// AdminConfig are the ports of the handlers. Token must not be empty.
type AdminConfig struct {
	Clock     clock.Clock
	Token     string
	Status    func() Status
	Records   Records
	Changes   Changes
	Trust     Trust
	Demotions Demotions
	Evidence  Evidence
	Switch    KillSwitch
	Facts     FactLog
	// Kept returns nil when all changes are stored where a restart finds them, or an error when the
	// context ends. It is nil if changes are not stored.
	Kept func(context.Context) error
}

// keepTime is how long a handler waits for a change to be stored before it answers that it is not
// (wall time).
const keepTime = 2 * time.Second

// stored returns a refusal unless all changes are stored.
func (a *adminHandlers) stored(ctx context.Context) error {
	if a.Kept == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	if a.Kept(ctx) != nil {
		return relay.AdminNotKept.Plain()
	}
	return nil
}

// keep says whether all changes are stored. If not, it answers with a refusal.
func (a *adminHandlers) keep(w http.ResponseWriter, r *http.Request) bool {
	if err := a.stored(r.Context()); err != nil {
		Refuse(w, r, err)
		return false
	}
	return true
}

// MountAdmin adds the API to a mux.
func MountAdmin(mux *serve.Mux, cfg AdminConfig) {
	a := &adminHandlers{cfg}
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
		"GET /admin/v1/facts":                             a.facts,
		"GET /admin/v1/kill-switch":                       a.killSwitch,
		"PUT /admin/v1/kill-switch":                       a.setKillSwitch,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method, path, a.authorized(operation))
	}
}

type adminHandlers struct{ AdminConfig }

// authorized refuses requests without the token. It compares hashes, so that its timing reveals
// nothing about the token, not even its length.
func (a *adminHandlers) authorized(next http.HandlerFunc) http.HandlerFunc {
	want := sha256.Sum256([]byte(a.Token))
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			Refuse(w, r, relay.AdminToken.Plain())
			return
		}
		next(w, r)
	}
}

// maxAdminBody bounds a request of the operator, in bytes.
const maxAdminBody = 1 << 20

// readExact decodes a JSON body. An empty body leaves the value as it is. Unknown names are
// refused.
func readExact(w http.ResponseWriter, r *http.Request, into any) *relay.Refused {
	body, refused := Body(w, r, maxAdminBody)
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
