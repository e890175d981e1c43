package app

import (
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/top"
)

// submitRules returns the pipeline's rules; wire adds its ports. The same holds for the functions
// below.
func (a *App) submitRules() submit.Config {
	return submit.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Key: a.cfg.Key, ValidationTimeout: a.cfg.ValidationTimeout,
		PayloadTimeout: a.cfg.HeaderPayloadTimeout, Executors: a.cfg.Executors,
		EscrowBytes: a.journal.EscrowBytes(), Cancellations: !a.cfg.NoCancellations,
	}
}

func (a *App) headerRules() *top.Headers {
	return &top.Headers{
		Spec: a.spec, Clock: a.cfg.Clock, CutOff: a.cfg.HeaderCutOff, Delay: a.cfg.HeaderDelay,
	}
}

func (a *App) deliverRules() deliver.Config {
	return deliver.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Log: a.log, CutOff: a.cfg.PayloadCutOff, RevealDelay: a.cfg.RevealDelay,
		PublishTimeout: a.cfg.PublishTimeout,
	}
}

// newBroadcast returns the broadcast of top bids. A slot is over for it when the head has reached
// it or the clock has passed it.
func (a *App) newBroadcast(chain *registry.Registry) *top.Broadcast {
	return &top.Broadcast{
		Clock: a.cfg.Clock, MaxListeners: a.cfg.TopBidListeners, MaxPerClient: a.cfg.TopBidListenersPerClient,
		Queue: a.cfg.TopBidQueue,
		Over: func(slot phase0.Slot) bool {
			return slot <= chain.Head().Slot || !a.cfg.Clock.Now().Before(a.spec.SlotStart(slot+1))
		},
	}
}

// newMux returns an API with health checks.
func (a *App) newMux(mount func(*serve.Mux)) *serve.Mux {
	mux := api.NewMux()
	mount(mux)
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", api.Statuses.Readyz(a.readiness))
	return mux
}
