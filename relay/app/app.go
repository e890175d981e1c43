package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/archive"
	"github.com/gavel-relay/gavel/relay/beacon"
	"github.com/gavel-relay/gavel/relay/bidder"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/reveal"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/stakedbid"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/top"
)

// App is a relay. New opens its stores and asks a beacon node for the network; Serve answers
// requests.
type App struct {
	cfg       Config
	instance  string // names this process in a cluster; empty if the journal is in this process
	opened    run.Opened
	log       *slog.Logger
	spec      *eth.Spec
	journal   *journal.Journal
	facts     *facts // written to the journal
	state     *state // kept in it
	topSync   *topSync
	archive   *archive.Archive
	nodes     *beacon.Nodes
	registry  *registry.Registry
	topBid    *top.Bids
	broadcast *top.Broadcast
	submit    *submit.Pipeline
	deliver   *deliver.Deliverer
	bidder    *bidder.Bidder   // nil without a staked builder
	revealer  *reveal.Revealer // nil with bidder
	staked    staked
	// stakedBids are those of other staked builders; nil if none are taken.
	stakedBids *stakedbid.Taker
	served     *slots.Payloads
	slots      *slots.Slots
	hydration  *submit.HydrationCache
	probe      *deliver.Probe
	builders   *registry.Builders
	killed     *killSwitch
	site       *site // nil if there is no website
	alerts     *alerts
	others     *instances // nil if the journal is in this process
	stopping   atomic.Bool
	api        *serve.Mux
	handler    http.Handler
	// proposers is the part of the public API that proposers use, for a listener of their own.
	proposers http.Handler
	watched   observed
	duties    dutyWatch
}

// New puts the parts together. Close closes what New has opened. If New fails, it closes it itself.
func New(ctx context.Context, cfg Config) (app *App, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: cfg.Log}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	if err := a.wire(); err != nil {
		return nil, err
	}
	if err := a.restore(ctx); err != nil {
		return nil, err
	}
	if a.others != nil {
		if now := a.spec.SlotAt(a.cfg.Clock.Now()); now > keepSlots {
			a.submit.Close(now - keepSlots) // of the auction log only what is open is read
		}
		a.others.start()
		a.opened.AddCloser(a.others.close)
		if err := a.others.catchUp(ctx); err != nil {
			return nil, fmt.Errorf("read the auction log: %w", err)
		}
	}
	if err := a.loadChain(ctx); err != nil {
		return nil, err
	}
	if err := a.restoreWishes(ctx); err != nil {
		return nil, fmt.Errorf("restore what proposers want in gloas: %w", err)
	}
	a.checkBuilder(ctx, a.spec.EpochOf(a.registry.Head().Slot+1))
	a.loadBuilders(ctx, a.spec.EpochOf(a.registry.Head().Slot+1))
	a.probe.Test(ctx)
	return a, nil
}

// reportFailure reports to the operator what no caller can be answered with.
func (a *App) reportFailure(action string, err error) {
	a.log.Error("could not "+action, "error", err)
	a.alerts.ReportFailure(a.cfg.Clock.Now(), action, err)
}

// unrecordedSubmission returns the function that counts submissions which do not become facts; nil
// if all shall become facts.
func (a *App) unrecordedSubmission() func(relay.SubmissionJudged) {
	if a.cfg.RecordRefused {
		return nil
	}
	return func(judged relay.SubmissionJudged) {
		judged.Builder = phase0.BLSPubKey{} // only a claim, so it must not be a label
		a.watched.metrics.Record(judged)
		a.site.Record(judged)
	}
}

// unrecordedPayload returns the same for blinded blocks.
func (a *App) unrecordedPayload() func(relay.PayloadRefused) {
	if a.cfg.RecordRefused {
		return nil
	}
	return func(refused relay.PayloadRefused) { a.watched.metrics.Record(refused) }
}
