package app

import (
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/top"
)

// wire connects the packages, in the order in which a slot goes: facts are recorded, proposers
// register, builders bid, proposers ask for a header and sign it, and the payload is delivered. The
// rules of each part are in rules.go.
func (a *App) wire() (err error) {
	// facts ─▶ journal, and at once ─▶ state, sync of the top payload, metrics, alerts
	a.facts = newFacts(a.journal, a.log, factEncoder{a.instance}, a.observer(), a.state, a.topSync,
		a.watched.metrics, a.alerts)
	if a.others != nil {
		a.facts.listeners = append(a.facts.listeners, deliveredHere{a})
	}
	a.facts.listeners = append(a.facts.listeners, leftPayloads{a})
	a.opened.Add(a.facts.Close)
	a.probe = a.newProbe()
	a.killed = &killSwitch{facts: a.facts}
	if a.builders, err = registry.NewBuilders(a.cfg.Builders, a.facts); err != nil {
		return err
	}

	// registrations, heads and duties ─▶ registry ─▶ all that need to know what a proposer wants
	a.registry = registry.New(a.spec, a.facts)

	// a bid: pipeline ─▶ escrow, and memory while it leads ─▶ top bid ─▶ listeners
	a.slots = new(slots.Slots)
	a.served = &slots.Payloads{Escrow: suspectedEscrow{escrow{a.journal}, a.probe}, Log: a.log,
		FetchServedOnly: a.others != nil}
	a.broadcast = a.newBroadcast(a.registry)
	a.topBid = &top.Bids{Broadcast: a.broadcast, Served: servedHeaders{a.facts, a.served}}
	a.opened.AddCloser(func() error { a.topBid.RecordRepeats(); return nil })
	pipeline := a.submitRules()
	pipeline.Chain, pipeline.Builders, pipeline.Slots, pipeline.Facts = a.registry, a.builders, a.slots, a.facts
	pipeline.Validator, pipeline.Live = a.cfg.Validator, a.mayTrust()
	pipeline.Escrow, pipeline.Evidence, pipeline.TopBids = a.served, evidence{a.journal},
		topWithPayload{a.topBid, a.served}
	pipeline.Unrecorded, pipeline.ReportFailure = a.unrecordedSubmission(), a.reportFailure
	a.shareAuction(&pipeline)
	a.submit = submit.New(pipeline)
	a.passRegistrationsOn()

	// a header: top bid ─▶ proposer
	headers := a.headerRules()
	headers.Bids, headers.Head, headers.Stopped = a.topBid, a.registry, a.isStopped
	if a.others != nil {
		headers.Sold = a.others.hasSold
	}

	a.wireGloas()
	a.deliver = deliver.New(a.delivery())

	a.hydration = &submit.HydrationCache{BlockBytes: api.MaxSSZ}
	a.mount(api.BuilderConfig{
		Spec: a.spec, Clock: a.cfg.Clock, Submitter: a.submit, Headers: a.submit, Duties: a.registry, Identity: a.builders,
		Speculator: speculate.New(speculate.Config{Spec: a.spec, Auction: a.submit, Key: a.cfg.Key, Verify: bls.Verify}),
		Hydrator:   a.hydration, TopBids: a.broadcast,
		TopBidsNeedKey: a.cfg.TopBidsNeedKey, Bids: a.bidder != nil, StakedBids: a.stakedForBuilders(),
		Network: serve.ByClient(a.cfg.Limits.TrustedProxies),
	}, api.ProposerConfig{
		Spec: a.spec, Clock: a.cfg.Clock, Registrar: a.registry, Headers: headers, Deliverer: a.deliver, Ready: a.Ready,
		Bidder: a.forProposers(), Revealer: a.toReveal(),
	})
	return nil
}

// wireGloas connects what is there from gloas on. All parts are nil without a staked builder, and
// the first one also if its bids are not wanted.
func (a *App) wireGloas() {
	a.stakedBids = a.newStakedBids() // bids that staked builders have signed ─▶ served as they are
	a.bidder = a.newBidder()         // blocks of the auction ─▶ a bid of the relay's own ─▶ proposer
	a.revealer = a.newRevealer()     // signed block ─▶ guard ─▶ beacon nodes ─▶ envelope
}

// delivery returns the parts that deliver a payload: signed block ─▶ guard ─▶ escrow ─▶ beacon
// nodes ─▶ proposer.
func (a *App) delivery() deliver.Config {
	delivery := a.deliverRules()
	delivery.Proposers, delivery.Headers, delivery.Slots, delivery.Facts = a.registry, a.topBid, a.slots, a.facts
	delivery.Guard, delivery.Payloads = suspectedGuard{newGuard(a.journal, a.spec), a.probe}, a.served
	delivery.Publisher, delivery.Unrecorded = a.nodes, a.unrecordedPayload()
	return delivery
}

// mount makes the handler of the three public APIs, and one of the proposers' API for a listener of
// its own.
func (a *App) mount(forBuilders api.BuilderConfig, forProposers api.ProposerConfig) {
	a.proposers = a.protect(a.newMux(func(mux *serve.Mux) { api.MountProposer(mux, forProposers) }))
	a.api = a.newMux(func(mux *serve.Mux) {
		api.MountProposer(mux, forProposers)
		api.MountBuilder(mux, forBuilders)
		api.MountData(mux, api.DataConfig{Archive: newest{a.archive, a.registry}})
		a.mountSite(mux)
	})
	a.handler = a.protect(a.api)
}
