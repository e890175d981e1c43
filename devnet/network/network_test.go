package network_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

func config(seed uint64) network.Config {
	return network.Config{
		Speed: 12, Slot: 12 * time.Second, SlotsPerEpoch: 4, Forks: []eth.ForkPoint{{Fork: eth.Fulu}},
		Validators: 4, Seed: seed,
		Actors: network.Actors{Users: 2, Traders: 1, Builders: 2, Searchers: 2, SearcherWallets: 3},
	}
}

func open(t *testing.T, cfg network.Config) *network.Network {
	t.Helper()
	n, err := network.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// The same seed gives the same actors, each with keys of its own and with money at genesis.
func TestActors(t *testing.T) {
	n, again, other := open(t, config(1)), open(t, config(1)), open(t, config(2))
	accounts := func(n *network.Network) []string {
		var list []string
		for _, address := range network.Addresses(slices.Concat(append(n.Searchers, n.Users, n.Traders, n.Builders)...)) {
			list = append(list, address.Hex())
		}
		return list
	}
	if got := accounts(n); len(got) != 11 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 11 {
		t.Errorf("accounts %v", got)
	}
	if !slices.Equal(accounts(n), accounts(again)) || slices.Equal(accounts(n), accounts(other)) {
		t.Error("the seed does not make the accounts")
	}
	state, err := n.Chain.Chain().State()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Concat(append(n.Searchers, n.Users, n.Traders, n.Builders)...) {
		if state.GetBalance(network.Address(key)).IsZero() {
			t.Errorf("%s has nothing", network.Address(key))
		}
	}
	if !state.GetBalance(n.Friend).IsZero() || !state.GetBalance(n.Payees[0]).IsZero() {
		t.Error("a payee has money at genesis, so that nobody sees what it is paid")
	}
}

// No slot passes before the clock is started, and all signatures are for this network only.
func TestGenesis(t *testing.T) {
	n := open(t, config(1))
	if now := n.Clock.Now(); !now.Equal(n.Spec.GenesisTime) || n.Spec.GenesisTime.Nanosecond() != 0 {
		t.Errorf("the clock reads %v at genesis %v", now, n.Spec.GenesisTime)
	}
	n.Clock.Start()
	running, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = n.RunClock(running) }()
	if err := n.Clock.Until(t.Context(), n.Spec.GenesisTime.Add(time.Millisecond)); err != nil {
		t.Error(err)
	}
	stop()
	<-stopped
	if want := (phase0.Version{6, 'g', 'v', 'l'}); n.Spec.Forks[0].Version != want {
		t.Errorf("fulu has version %x, want %x", n.Spec.Forks[0].Version, want)
	}
	if _, key := n.Beacon.Duty(1); key == (phase0.BLSPubKey{}) {
		t.Error("nobody proposes in slot 1")
	}
}

// Where programs know only the wall clock, genesis lies ahead, so that there is time to open them.
func TestWall(t *testing.T) {
	cfg := config(1)
	cfg.Clock = network.Wall{}
	before := time.Now()
	n := open(t, cfg)
	if lead := n.Spec.GenesisTime.Sub(before); lead <= 2*time.Second || n.Spec.GenesisTime.Nanosecond() != 0 {
		t.Errorf("genesis is at %v, %v after the network was opened", n.Spec.GenesisTime, lead)
	}
	if n.Clock.Now().Before(before) {
		t.Error("the clock does not read the wall's time")
	}
}

// What is generous in chain time is so on the wall as well, but leaves something of the slot.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		speed      float64
		slot, span time.Duration
		want       time.Duration
	}{
		{1, 12 * time.Second, 4 * time.Second, 4 * time.Second},
		{6, 12 * time.Second, 4 * time.Second, 6 * time.Second},
		{60, 12 * time.Second, 4 * time.Second, 9 * time.Second},
		{60, 2 * time.Second, 4 * time.Second, 4 * time.Second},
	} {
		n := &network.Network{Config: network.Config{Speed: c.speed, Slot: c.slot}}
		if got := n.Patience(c.span); got != c.want {
			t.Errorf("%v at speed %v in slots of %v: %v, want %v", c.span, c.speed, c.slot, got, c.want)
		}
	}
}

// From gloas on each relay has a staked builder, whose index is its number.
func TestRelaysHaveStake(t *testing.T) {
	cfg := config(1)
	cfg.Forks, cfg.Relays = []eth.ForkPoint{{Fork: eth.Fulu}, {Fork: eth.Gloas, Epoch: 2}}, 2
	n, err := network.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range gloas.BuilderIndex(3) {
		balance, owed, err := n.Beacon.BuilderBalance(i)
		if known := i < 2; (err == nil) != known || known && (balance == 0 || owed != 0) {
			t.Errorf("builder %d: %d Gwei, owes %d: %v", i, balance, owed, err)
		}
	}
}

// Builders with stake of their own come after those of the relays, in their order; the others have
// no index.
func TestStakes(t *testing.T) {
	cfg := config(1)
	cfg.Forks, cfg.Relays = []eth.ForkPoint{{Fork: eth.Gloas}}, 2
	cfg.Stakes = []network.Stake{{Builder: 1, Gwei: 5_000_000_000}}
	n := open(t, cfg)
	index, ok := n.StakedIndex(1)
	if balance, _, err := n.Beacon.BuilderBalance(index); !ok || index != 2 || balance != 5_000_000_000 || err != nil {
		t.Errorf("builder-2 bids as %d with %d Gwei: %v", index, balance, err)
	}
	if _, ok := n.StakedIndex(0); ok {
		t.Error("builder-1 has stake")
	}
	for index, want := range map[gloas.BuilderIndex]string{0: "", 1: "", 2: "builder-2", 3: "", gloas.SelfBuild: ""} {
		if got := n.StakedName(index); got != want {
			t.Errorf("index %d is %q, want %q", index, got, want)
		}
	}
}
