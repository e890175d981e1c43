package app

import (
	"cmp"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/web"
)

// site keeps the newest auctions for the website. Facts come from the journal's writer, so that the
// auction never waits for the website.
type site struct {
	clock  clock.Clock
	policy *web.Policy
	live   *liveView

	mu       sync.Mutex // guards auctions
	auctions web.Auctions
}

// newSite returns the website's auctions; nil if there is no website.
func (a *App) newSite() *site {
	if !a.cfg.Website {
		return nil
	}
	return &site{clock: a.cfg.Clock, live: newLiveView(), auctions: web.Auctions{Spec: a.spec}, policy: &web.Policy{
		Spec: a.spec, OverAfter: cmp.Or(max(a.cfg.PayloadCutOff, 0), a.spec.SlotDuration),
		HideLosing: a.cfg.WebsiteHideLosing, HideLeading: a.cfg.TopBidsNeedKey,
		Name: func(key phase0.BLSPubKey) string { return a.builders.Of(key).Name },
	}}
}

// Record takes up a fact. A nil site takes up none.
func (s *site) Record(fact relay.Fact) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auctions.Record(fact)
}

// Shown implements api.Auctions.
func (s *site) Shown(slot phase0.Slot) (web.Shown, bool) {
	s.mu.Lock()
	auction, known := s.auctions.Of(slot)
	s.mu.Unlock()
	return s.policy.Show(&auction, s.clock.Now()), known
}

// mountSite adds the website to the public API, if there is one.
func (a *App) mountSite(mux *serve.Mux) {
	if a.site == nil {
		return
	}
	api.MountWebsite(mux, api.WebsiteConfig{Live: a.site.live, Address: serve.ByClient(a.cfg.Limits.TrustedProxies),
		Clock: a.cfg.Clock, Archive: newest{a.archive, a.registry}, Auctions: a.site,
		Policy: a.site.policy, Status: func() web.Status {
			return web.Status{Network: a.cfg.Network, Ready: a.Ready() && !a.isStopped(), HeadSlot: a.registry.Head().Slot,
				Validators: a.registry.Validators(), Registrations: a.registry.Registrations(), PublicKey: a.cfg.Key.PublicKey()}
		}})
}

// observer opens the website's auctions, and returns what gets the facts that are in the journal:
// the website and who observes the relay; nil if there is neither.
func (a *App) observer() func(relay.Fact) {
	if a.site = a.newSite(); a.site == nil {
		return a.cfg.Observe
	}
	return func(fact relay.Fact) {
		a.site.Record(fact)
		if a.cfg.Observe != nil {
			a.cfg.Observe(fact)
		}
	}
}
