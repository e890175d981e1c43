package app

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/staked"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/relay/client"
)

const (
	// stakedName is the builder that signs its bids itself.
	stakedName = "staked"
	// stakedValue is what it bids from its stake, in Gwei.
	stakedValue = 1_000_000
)

// stakedIndex is its place among the staked builders of genesis: the relay's is before it.
const stakedIndex = 1

// stakedBuilders is how many builders have stake at genesis.
func stakedBuilders(cfg devnet.Config) int {
	if cfg.StakedBuilder {
		return stakedIndex + 1
	}
	return stakedIndex
}

// fundedBesides are the accounts that have ether beside those of the network's actors.
func fundedBesides(cfg devnet.Config) []common.Address {
	if !cfg.StakedBuilder {
		return nil
	}
	return []common.Address{crypto.PubkeyToAddress(network.Wallet(cfg.Seed, stakedName, 0).PublicKey)}
}

// staked returns the builder that signs its bids itself.
func (l *lab) staked() (Runner, error) {
	relay, err := client.New(l.relayURL, client.Options{})
	if err != nil {
		return nil, err
	}
	return staked.New(staked.Config{
		Name: stakedName, Index: stakedIndex, Key: network.RelayKey(l.cfg.Seed, stakedIndex),
		Wallet: network.Wallet(l.cfg.Seed, stakedName, 0), Node: l.network.Chain, Spec: l.network.Spec,
		BeaconURL: l.beaconURL, Relays: []*client.Client{relay}, Value: stakedValue, Log: l.log.With("part", stakedName),
	}).Run, nil
}

// builderNames returns the names of all builders by their public keys.
func (l *lab) builderNames() map[phase0.BLSPubKey]string {
	names := l.network.BuilderNames()
	if l.cfg.StakedBuilder {
		names[network.RelayKey(l.cfg.Seed, stakedIndex).PublicKey()] = stakedName
	}
	return names
}
