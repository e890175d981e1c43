package app

import (
	"log/slog"
	"net"
	"strconv"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/network"
)

// privateWallets is how many accounts there are for each private transaction in a slot; several,
// because an account waits until its transaction has landed.
const privateWallets = 8

// openNetwork opens the network of a devnet. If programs take part that know only wall time,
// genesis is in the near future. Otherwise genesis is now, and the clock stands until it is
// started.
func openNetwork(cfg devnet.Config, senders []common.Address, log *slog.Logger) (*network.Network, error) {
	opened := network.Config{
		Speed: cfg.Speed, Slot: cfg.SlotDuration, SlotsPerEpoch: cfg.SlotsPerEpoch, Forks: cfg.Forks,
		Validators: cfg.Validators, Seed: cfg.Seed, DataDir: within(cfg.DataDir, "chain"),
		RPCAddr: net.JoinHostPort(host, strconv.Itoa(cfg.RPCPort)), LocalTxLimit: cfg.TxsPerSlot, Log: log,
		Relays: stakedBuilders(cfg), Funded: append(fundedBesides(cfg), senders...),
		Actors: network.Actors{
			Users: network.UserWallets, Traders: cfg.OrdersPerSlot * privateWallets, Builders: cfg.Builders,
			Searchers: cfg.Searchers, SearcherWallets: network.SearcherWallets,
		},
	}
	if len(senders) > 0 {
		opened.LocalTxLimit = replayedInBlock
	}
	if cfg.MevBoost != "" || len(cfg.Relays) > 0 {
		opened.Clock = network.Wall{}
	}
	return network.Open(opened)
}
