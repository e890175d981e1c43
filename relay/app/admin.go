package app

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Patterns lists all operations of the public and of the operator's API, as "METHOD /path".
func (a *App) Patterns() []string { return append(a.api.Patterns(), a.adminMux().Patterns()...) }

// Admin returns the operator's API: health and metrics, and with a token the admin API and the
// operator's page. The page's sessions are those of one call.
func (a *App) Admin() http.Handler { return a.adminMux() }

func (a *App) adminMux() *serve.Mux {
	mux := api.NewMux()
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", api.Statuses.Readyz(a.readiness))
	mux.Handle(http.MethodGet, "/metrics", observe.Handler(a.watched.registry, a.log).ServeHTTP)
	if a.cfg.AdminToken != "" {
		admin := api.AdminConfig{
			Clock: a.cfg.Clock, Token: a.cfg.AdminToken, Status: a.status, Records: a.builders, Changes: a.builders,
			Trust:     a.builders,
			Demotions: a.builders, Evidence: evidence{a.journal}, Switch: a.killed, Facts: factLog{a.journal},
			Kept: a.state.Kept,
		}
		api.MountAdmin(mux, admin)
		api.MountPortal(mux, api.PortalConfig{AdminConfig: admin, State: a.portal, Log: a.log})
	}
	return mux
}

// ServeAdmin answers the operator until the context ends.
func (a *App) ServeAdmin(ctx context.Context, listener net.Listener) error {
	return serve.Serve(ctx, listener, a.Admin(), serve.Options{Log: a.log})
}

func (a *App) status() api.Status {
	return api.Status{
		Ready: a.Ready(), HeadSlot: a.registry.Head().Slot, Validators: a.registry.Validators(),
		Registrations: a.registry.Registrations(),
		KillSwitch:    a.killed.On(), ValidatorLive: a.cfg.ValidatorLive == nil || a.cfg.ValidatorLive(),
	}
}

// factLog is the part of a journal that has the relay's facts.
type factLog struct{ journal *journal.Journal }

// WriteFacts implements api.FactLog.
func (l factLog) WriteFacts(ctx context.Context, after uint64, out io.Writer) error {
	return l.journal.WriteFacts(ctx, after, []string{subjectPrefix + ">"}, out)
}

// Kept implements admin.Evidence.
func (e evidence) Kept(ctx context.Context, blockHash phase0.Hash32) (*relay.Contents, error) {
	raw, err := e.journal.Kept(ctx, hex.EncodeToString(blockHash[:]))
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil // as the port says, a missing block is no error
	}
	if err != nil {
		return nil, err
	}
	return wire.DecodeContents(raw)
}
