package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
)

// All that the relays must know of a client's network is read from its beacon node.
func TestRunningConsensus(t *testing.T) {
	n, err := network.Open(network.Config{Slot: 6 * time.Second, SlotsPerEpoch: 4, Validators: 4, Seed: 1, Speed: 1,
		Forks: []eth.ForkPoint{{Fork: eth.Deneb}, {Fork: eth.Electra, Epoch: 1 << 40}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	server := httptest.NewServer(n.Beacon.Handler())
	defer server.Close()
	p, err := openRunningConsensus(t.Context(), server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := p.Network
	if got.Slot != n.Slot || got.GenesisForkVersion != n.Spec.GenesisForkVersion || got.Fork != eth.Deneb ||
		!got.GenesisTime.Equal(n.Spec.GenesisTime) || p.SlotsPerEpoch != 4 {
		t.Errorf("the network is read as %+v with %d slots per epoch", got, p.SlotsPerEpoch)
	}
}

// A server that is no beacon node is named, and nothing is judged.
func TestRunningConsensusIsNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":{"genesis_time":"1","genesis_fork_version":"0x00000000"}}`))
	}))
	defer server.Close()
	if _, err := openRunningConsensus(t.Context(), server.URL, ""); err == nil ||
		!strings.Contains(err.Error(), "SECONDS_PER_SLOT") {
		t.Errorf("a server without slots is taken for a beacon node: %v", err)
	}
}
