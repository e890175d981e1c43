package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/web"
)

// What the operator reads of builders, demotions, stores and nodes.
func TestPortal(t *testing.T) {
	ether := uint256.NewInt(1e18)
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	p := web.Portal{
		Network: "hoodi", HeadSlot: 7, Validators: 10, Registrations: 8, KillSwitch: true,
		NotReady: "the newest head, of slot 7, is 6m0s old",
		Builders: []relay.Builder{
			{Name: "alpha", CollateralWei: ether, Pubkeys: make([]phase0.BLSPubKey, 2)},
			{Name: "beta", CollateralWei: ether, Optimistic: true, HeaderFirst: true, HighPriority: true,
				APIKeyHash: &phase0.Hash32{}},
			{Name: "gamma", Blocked: true},
		},
		Demotions: []relay.BuilderDemoted{
			{At: at, Name: "alpha", Demotion: relay.Demotion{Rule: "payment", Detail: strings.Repeat("x", 400),
				Delivered: true, Trace: relay.Trace{Slot: 7, BlockHash: phase0.Hash32{1}, ValueWei: ether}}},
			{At: at.Add(-time.Hour), Name: "alpha", Demotion: relay.Demotion{Rule: "state"}},
		},
		Stores: []web.Store{
			{Name: "facts", SizeBytes: 12_345_678, FreeBytes: 1_000, Lag: -1},
			{Name: "archive", SizeBytes: -1, FreeBytes: 7, Lag: 50_001, Fault: "it does not answer", Note: "PostgreSQL"},
		},
		Nodes: []web.Node{{Kind: "beacon", Name: "node:5052", Works: true, Note: "follows the head"},
			{Kind: "validation", Name: "node:8545"}},
	}
	page := p.Page()
	text := page.Markdown() + "\n"
	for _, row := range p.BuilderRows() {
		text += fmt.Sprintf("%s: suspend %v, promote %v:", row.Name, row.Optimistic, row.Promotable)
		for i, cell := range row.Cells {
			text += fmt.Sprintf(" %s=%s;", web.BuilderColumns[i], cell.Text)
		}
		text += "\n"
	}
	golden.File(t, "testdata/portal.md", text)
}

// However many builders and demotions there are, the page is bounded and says what is left out.
func TestPortalIsBounded(t *testing.T) {
	p := web.Portal{Builders: make([]relay.Builder, 10_000), Demotions: make([]relay.BuilderDemoted, 1000)}
	page := p.Page()
	if len(p.BuilderRows()) != 500 || len(page.Tables[0].Rows) != 100 ||
		!strings.Contains(page.Markdown(), "9500 more builders are not shown") ||
		page.Tables[0].Title != "Demotions, the newest 100 of 1000" {
		t.Errorf("%d builders, %d demotions, %q", len(p.BuilderRows()), len(page.Tables[0].Rows), page.Tables[0].Title)
	}
}
