package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/beacon"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/top"
)

// Duties are fetched again when a head depends on another root than they did, not for every head,
// and again at the next head if the nodes failed.
func TestDutiesFollowTheirDependentRoot(t *testing.T) {
	var asked, failing atomic.Int64
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/validator/duties/proposer/") {
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		if failing.Load() > 0 {
			http.Error(w, "syncing", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"dependent_root":"0x%064x","data":[]}`, 1)
	}))
	defer node.Close()
	nodes, err := beacon.New(beacon.Config{URLs: []string{node.URL}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	spec := &eth.Spec{SlotsPerEpoch: 32}
	a := &App{spec: spec, nodes: nodes, log: slog.New(slog.DiscardHandler), registry: registry.New(spec, nil),
		topBid: new(top.Bids)}

	for _, step := range []struct {
		what              string
		slot              phase0.Slot
		current, previous byte
		fails, fetched    bool
	}{
		{"the first head", 1, 1, 1, false, true},
		{"the next head, nothing changed", 2, 1, 1, false, false},
		{"another current root", 2, 2, 1, false, true},
		{"another previous root, nodes fail", 2, 2, 2, true, true},
		{"the same again, since it failed", 2, 2, 2, false, true},
		{"nothing changed", 2, 2, 2, false, false},
	} {
		failing.Store(0)
		if step.fails {
			failing.Store(1)
		}
		asked.Store(0)
		a.handleHead(t.Context(), relay.Head{Slot: step.slot,
			CurrentDependent: phase0.Root{step.current}, PreviousDependent: phase0.Root{step.previous}})
		if got := asked.Load() > 0; got != step.fetched {
			t.Errorf("%s: fetched %v, want %v", step.what, got, step.fetched)
		}
	}
}
