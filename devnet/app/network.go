package app

import (
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
)

// userWallets is how many accounts send transactions: enough that one sender's nonces seldom hold
// up a block.
const userWallets = 32

// privateWallets is how many accounts send private ones for each that is sent in a slot: an account
// waits until its transaction has landed. searcherWallets is how many backruns of a searcher can
// land in a block.
const (
	privateWallets  = 8
	searcherWallets = 8
)

// openNetwork opens the network of a devnet. For programs that know only the wall clock, genesis
// lies in its near future; otherwise it is now, and the clock stands still until it is started.
func openNetwork(cfg devnet.Config, log *slog.Logger) (*network.Network, error) {
	opened := network.Config{
		Speed: cfg.Speed, Slot: cfg.SlotDuration, SlotsPerEpoch: cfg.SlotsPerEpoch, Forks: cfg.Forks,
		Validators: cfg.Validators, Seed: cfg.Seed, DataDir: within(cfg.DataDir, "chain"),
		RPCAddr: net.JoinHostPort(host, strconv.Itoa(cfg.RPCPort)), LocalTxLimit: cfg.TxsPerSlot, Log: log,
		Actors: network.Actors{
			Users: userWallets, Traders: cfg.OrdersPerSlot * privateWallets, Builders: cfg.Builders,
			Searchers: cfg.Searchers, SearcherWallets: searcherWallets,
		},
	}
	if cfg.MevBoost != "" || len(cfg.Relays) > 0 {
		opened.Genesis, opened.Clock = time.Now().Truncate(time.Second).Add(realTimeLead), wall{}
	}
	return network.Open(opened)
}

// realTimeLead leaves time to open all parts before a genesis on the wall clock.
const realTimeLead = 3 * time.Second

// wall is the wall clock, which runs anyway.
type wall struct{ clock.Real }

// Start implements network.Clock.
func (wall) Start() {}
