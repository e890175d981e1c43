package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/api/builder"
	"github.com/gavel-relay/gavel/relay/api/data"
	"github.com/gavel-relay/gavel/relay/api/proposer"
	"github.com/gavel-relay/gavel/relay/archive"
	"github.com/gavel-relay/gavel/relay/beacon"
	"github.com/gavel-relay/gavel/relay/builders"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/hydrate"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/top"
)

// App is a relay. New opens its stores and asks a beacon node for the network; Run serves.
type App struct {
	cfg       Config
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
	topBid    *top.TopBid
	broadcast *top.Broadcast
	submit    *submit.Pipeline
	deliver   *deliver.Deliverer
	served    *slots.Payloads
	slots     *slots.Slots
	probe     *deliver.Probe
	builders  *builders.List
	killed    *killSwitch
	alerts    *alerts
	stopping  atomic.Bool
	api       *serve.Mux
	handler   http.Handler
	// proposers is the part of the public API that proposers use, for a listener of their own.
	proposers http.Handler
	watched   observed
	duties    dutyWatch
}

// New puts the parts together. What it has opened is closed by Close, or at once if it fails.
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
	cfg.Journal.Dir, cfg.Journal.Log, cfg.Journal.StartTimeout = within(cfg.DataDir, "journal"), cfg.Log, cfg.StartTimeout
	if a.journal, err = journal.Open(ctx, cfg.Journal); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	a.opened.Add(a.journal.Close)
	if a.archive, err = archive.Open(ctx, databaseOf(cfg), cfg.Log); err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	a.opened.AddCloser(a.archive.Close)
	if err := a.archive.CheckAtStart(ctx, a.journal); err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	if a.nodes, err = beacon.New(beacon.Config{URLs: cfg.BeaconURLs}, cfg.Log); err != nil {
		return nil, err
	}
	if a.spec, err = a.waitForSpec(ctx); err != nil {
		return nil, err
	}
	if err := eth.CheckNetwork(cfg.Network, a.spec); err != nil {
		return nil, err
	}
	if err := a.wire(); err != nil {
		return nil, err
	}
	if err := a.restore(ctx); err != nil {
		return nil, err
	}
	if err := a.loadChain(ctx); err != nil {
		return nil, err
	}
	a.probe.Test(ctx)
	return a, nil
}

// databaseOf is the URL of the archive.
func databaseOf(cfg Config) string {
	switch {
	case cfg.Database != "":
		return cfg.Database
	case cfg.DataDir == "":
		return "sqlite::memory:"
	default:
		return "sqlite:" + filepath.Join(cfg.DataDir, "archive.db")
	}
}

// within is a folder in the data folder, or nothing without one.
func within(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// wire draws every arrow between the rooms.
func (a *App) wire() (err error) {
	record := newFacts(a.journal, a.log, a.cfg.Observe)
	a.facts = record
	a.opened.Add(record.Close)
	a.state = newState(a.journal, a.log)
	a.opened.Add(a.state.Close)
	a.topSync = newTopSync(escrow{a.journal}.sync, a.log)
	record.listeners = append(record.listeners, a.state, a.topSync)
	if a.builders, err = builders.New(a.cfg.Builders, record); err != nil {
		return err
	}
	a.killed = &killSwitch{facts: record}
	if err := a.observe(record); err != nil {
		return err
	}
	a.alerts = newAlerts(alertConfig{URLs: a.cfg.Webhooks, Log: a.log})
	record.listeners = append(record.listeners, a.alerts)
	a.registry = registry.New(a.spec, record)
	a.broadcast = &top.Broadcast{
		Clock: a.cfg.Clock, MaxListeners: a.cfg.TopBidListeners, MaxPerClient: a.cfg.TopBidListenersPerClient,
		Queue: a.cfg.TopBidQueue,
		Over: func(slot phase0.Slot) bool {
			return slot <= a.registry.Head().Slot || !a.cfg.Clock.Now().Before(a.spec.SlotStart(slot+1))
		},
	}
	a.probe = a.newProbe()
	a.slots = new(slots.Slots)
	a.served = &slots.Payloads{Escrow: suspectedEscrow{escrow{a.journal}, a.probe}, Log: a.log}
	a.topBid = &top.TopBid{Broadcast: a.broadcast, Served: handedOut{record, a.served}}
	a.opened.AddCloser(func() error { a.topBid.TellRepeats(); return nil })
	a.deliver = deliver.New(deliver.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Proposers: a.registry, Payloads: a.served, Slots: a.slots,
		Guard: suspectedGuard{newGuard(a.journal, a.spec), a.probe}, Headers: a.topBid, Publisher: a.nodes,
		Facts: record, Unrecorded: a.unrecordedPayload(), Log: a.log, CutOff: a.cfg.PayloadCutOff,
		RevealDelay: a.cfg.RevealDelay, PublishTimeout: a.cfg.PublishTimeout,
	})
	a.submit = submit.New(submit.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Chain: a.registry, Slots: a.slots, Builders: a.builders,
		Validator: a.cfg.Validator,
		Live:      a.mayTrust(), Escrow: a.served, EscrowBytes: a.journal.EscrowBytes(), Evidence: evidence{a.journal},
		Board: shown{a.topBid, a.served}, Facts: record, Trouble: a.trouble,
		Unrecorded: a.unrecordedSubmission(),
		Key:        a.cfg.Key, ValidationTimeout: a.cfg.ValidationTimeout, PayloadTimeout: a.cfg.HeaderPayloadTimeout,
		Executors:     a.cfg.Executors,
		Cancellations: !a.cfg.NoCancellations,
	})
	a.registry.Changed = a.submit.Reregistered
	headers := &top.Headers{
		TopBid: a.topBid, Spec: a.spec, Head: a.registry, CutOff: a.cfg.HeaderCutOff, Stopped: a.stopped,
		Delay: a.cfg.HeaderDelay, Clock: a.cfg.Clock,
	}

	forProposers := proposer.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Registrar: a.registry, Headers: headers, Deliverer: a.deliver, Ready: a.Ready,
	}
	a.proposers = a.protect(a.newMux(func(mux *serve.Mux) { proposer.Mount(mux, forProposers) }))
	a.api = a.newMux(func(mux *serve.Mux) {
		proposer.Mount(mux, forProposers)
		a.mountBuilders(mux)
		data.Mount(mux, data.Config{Archive: newest{a.archive, a.registry}})
	})
	a.handler = a.protect(a.api)
	return nil
}

// newMux is an API with health checks beside it.
func (a *App) newMux(mount func(*serve.Mux)) *serve.Mux {
	mux := api.NewMux()
	mount(mux)
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", api.Statuses.Readyz(a.readiness))
	return mux
}

// mountBuilders adds the API of builders.
func (a *App) mountBuilders(mux *serve.Mux) {
	builder.Mount(mux, builder.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Submitter: a.submit, Speculator: a.speculator(), Headers: a.submit,
		Duties:  a.registry,
		Network: serve.ByClient(a.cfg.Limits.TrustedProxies), Identity: a.builders,
		Hydrator: &hydrate.Cache{BlockBytes: builder.MaxSSZ},
		TopBids:  a.broadcast, TopBidsNeedKey: a.cfg.TopBidsNeedKey,
	})
}

// speculator works on submissions while their bodies come.
func (a *App) speculator() *speculate.Speculator {
	return speculate.New(speculate.Config{Spec: a.spec, Auction: a.submit, Key: a.cfg.Key, Verify: bls.Verify})
}

// unrecordedSubmission counts the submissions that anybody could have sent; nil if they are to be
// facts like the others.
func (a *App) unrecordedSubmission() func(relay.SubmissionJudged) {
	if a.cfg.RecordRefused {
		return nil
	}
	return func(judged relay.SubmissionJudged) {
		judged.Builder = phase0.BLSPubKey{} // a claim
		a.watched.metrics.Record(judged)
	}
}

// unrecordedPayload is the same for blinded blocks.
func (a *App) unrecordedPayload() func(relay.PayloadRefused) {
	if a.cfg.RecordRefused {
		return nil
	}
	return func(refused relay.PayloadRefused) { a.watched.metrics.Record(refused) }
}

// trouble tells the operator what no caller can be told.
func (a *App) trouble(action string, err error) {
	a.log.Error("could not "+action, "error", err)
	a.alerts.Trouble(a.cfg.Clock.Now(), action, err)
}

// stopped says whether no headers are served: by the operator's wish, or because what they sell
// could not be delivered now.
func (a *App) stopped() bool { return a.killed.On() || a.probe.Broken() }

// Ready says whether validators and duties are known, payloads could be delivered now, and the
// relay does not stop.
func (a *App) Ready() bool {
	return a.informed() && !a.probe.Broken()
}

func (a *App) informed() bool {
	return !a.stopping.Load() && a.registry.Validators() > 0 &&
		a.registry.DutiesKnown(a.spec.EpochOf(a.registry.Head().Slot))
}

// readiness says why the relay is not ready, if it is not. When no head came for long, all beacon
// nodes are out of reach or behind.
func (a *App) readiness() error {
	if !a.informed() {
		return relay.NotReady.Plain()
	}
	if fault := a.probe.Fault(); fault != nil {
		return relay.NotReady.With("no headers are served, since payloads could not be delivered: %v", fault)
	}
	if lag := a.archiveLag(); lag < -1 { // -1 is no answer: the relay works without its archive
		return relay.NotReady.With("the journal has lost %d facts that the archive has: deliveries will be missing there",
			int(-lag))
	}
	head := a.registry.Head()
	if behind := a.cfg.Clock.Now().Sub(a.spec.SlotStart(head.Slot)); behind > a.cfg.StaleAfter {
		return relay.NotReady.With("the newest head, of slot %d, is %s old", head.Slot, behind.Round(time.Second))
	}
	return nil
}

// mayTrust says whether a bid may count before its block is executed; in literal mode none does.
func (a *App) mayTrust() func() bool {
	if a.cfg.Literal {
		return func() bool { return false }
	}
	return a.cfg.ValidatorLive
}
