package app

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/breaker"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// runner runs until its context ends, and returns nil then.
type runner func(context.Context) error

// agents are all outsiders of the run. They are given addresses and keys, nothing of the relay.
func (l *lab) agents(ctx context.Context) ([]runner, error) {
	relays, err := l.relays()
	if err != nil {
		return nil, err
	}
	bidTo := make([]builder.Relay, len(relays))
	for i, r := range relays {
		bidTo[i] = builder.Relay{Name: r.Client.URL(), Client: r.Client}
	}
	n := l.network
	crowd := user.New(user.Config{
		Wallets: n.Users, ChainID: network.ChainID, PerSlot: l.cfg.TxsPerSlot, BlobEvery: l.cfg.BlobEvery, Spec: n.Spec,
		Clock: n.Clock,
		RPC:   l.network.Chain.Attach(), Seed: l.cfg.Seed, Log: l.log.With("part", "user"),
	})
	list := []runner{crowd.Run, l.proposers(relays).Run}
	orderFlow, err := l.orderFlowAgents(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, orderFlow...)
	for i, wallet := range n.Builders {
		b := builder.New(builder.Config{
			Name: network.BuilderName(i), Key: n.BuilderKey(i), Wallet: wallet, Node: l.network.Chain,
			Signer: types.LatestSigner(l.network.Chain.Chain().Config()), Orders: l.builderListener(i), Spec: n.Spec,
			Clock:     n.Clock,
			BeaconURL: l.beaconURL, Relays: bidTo, TxLimit: l.cfg.TxsPerSlot * 3 / 2, Seed: l.cfg.Seed + uint64(i)*1000 + 1,
			Log: l.log.With("part", "builder"),
		})
		list = append(list, b.Run)
	}
	return list, nil
}

// proposers are all validators behind one sidecar.
func (l *lab) proposers(relays []proposer.Relay) *proposer.Proposer {
	n := l.network
	keys := make(map[phase0.ValidatorIndex]*bls.SecretKey, l.cfg.Validators)
	for i := range phase0.ValidatorIndex(l.cfg.Validators) {
		keys[i] = l.network.Beacon.ValidatorKey(i)
	}
	var sidecar proposer.Sidecar = &proposer.Aggregator{Spec: n.Spec, Relays: relays, Log: l.log.With("part", "sidecar")}
	if l.sidecar != nil {
		sidecar = &proposer.Remote{Client: l.sidecar, Spec: n.Spec}
	}
	return proposer.New(proposer.Config{
		Keys: keys, FeeRecipient: n.Payee, GasLimit: network.GasLimit, Spec: n.Spec, Clock: n.Clock, BeaconURL: l.beaconURL,
		Sidecar: sidecar,
		// The pool is everybody's, so a local block earns as much as a builder's; without a preference
		// there would be nothing to auction.
		BuilderBoostFactor: proposer.PreferBuilder,
		Breaker:            breaker.Limits{MissedInRow: l.cfg.CircuitBreaker},
		Log:                l.log.With("part", "proposer"),
	})
}

// relays are the devnet's own, and those that joined it.
func (l *lab) relays() ([]proposer.Relay, error) {
	own, err := client.New(l.relayURL, client.Options{})
	if err != nil {
		return nil, err
	}
	list := []proposer.Relay{{Client: own, Pubkey: network.RelayKey(l.cfg.Seed, 0).PublicKey()}}
	for _, address := range l.cfg.Relays {
		base, key, err := devnet.ParseRelay(address)
		if err != nil {
			return nil, err
		}
		other, err := client.New(base, client.Options{})
		if err != nil {
			return nil, err
		}
		list = append(list, proposer.Relay{Client: other, Pubkey: key})
	}
	return list, nil
}

// relayAddress is the relay's URL with its key in the user part, as sidecars are configured.
func (l *lab) relayAddress() string {
	return network.RelayAddress(l.listeners[1].Addr().String(), network.RelayKey(l.cfg.Seed, 0))
}
