//go:build axe

package api

import (
	"context"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/chromedp/chromedp"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/web"
)

// The operator's page has no violation of axe-core's rules: its log-in, what it shows, and a
// refusal.
func TestPortalAccessible(t *testing.T) {
	h := newPortal(t)
	h.state = func(p *web.Portal) {
		p.Builders = append(p.Builders, relay.Builder{Name: "beta", Optimistic: true, CollateralWei: uint256.NewInt(1)},
			relay.Builder{Name: "gamma", Blocked: true})
		p.Demotions = append(p.Demotions, relay.BuilderDemoted{Name: "alpha", Demotion: relay.Demotion{Rule: "payment",
			Detail: "less than bid", Trace: relay.Trace{BlockHash: phase0.Hash32{1}}}})
	}
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	// without a session: the form of the token, and a refusal
	servetest.CheckAccessible(t, ctx, []string{h.url + "/operator", h.url + "/operator/evidence/0x12"})
	if err := chromedp.Run(ctx, chromedp.Navigate(h.url+"/operator"), chromedp.SendKeys("#token", token),
		chromedp.Submit("#token"), chromedp.WaitVisible("#builders")); err != nil {
		t.Fatal(err)
	}
	servetest.CheckAccessible(t, ctx, []string{h.url + "/operator"}, chromedp.WaitVisible("#builders"))
}
