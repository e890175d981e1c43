package app

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/network"
)

// agents returns all agents of the run.
func (l *lab) agents(ctx context.Context) ([]Runner, error) {
	cast := &Cast{
		Network: l.network, BeaconURL: l.beaconURL, RPCURL: l.bundleURL, StreamURL: l.streamURL,
		TxsPerSlot: l.cfg.TxsPerSlot, BlobEvery: l.cfg.BlobEvery, Log: l.log,
	}
	if l.replay != nil {
		cast.TxLimit = replayedInBlock
	}
	var err error
	if cast.Relays, err = l.relays(); err != nil {
		return nil, err
	}
	proposers, err := cast.Proposers(l.proposerRole())
	if err != nil {
		return nil, err
	}
	list := []Runner{proposers.Run}
	if l.replay == nil {
		list = append(list, cast.Users())
	} else {
		list = append(list, l.replay.Run)
	}
	if l.cfg.OrdersPerSlot > 0 {
		users, err := cast.Private(ctx, l.cfg.OrdersPerSlot)
		if err != nil {
			return nil, err
		}
		list = append(list, users)
	}
	for i := range l.cfg.Searchers {
		one, err := cast.Searcher(ctx, i)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	for i := range l.cfg.Builders {
		one, err := cast.Builder(i, BuilderRole{Orders: l.builderListener(i)})
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	if l.cfg.StakedBuilder {
		one, err := l.staked()
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func (l *lab) proposerRole() ProposerRole {
	return ProposerRole{Remote: l.sidecar, Breaker: devnet.BreakerLimits{MissedInRow: l.cfg.CircuitBreaker}}
}

// relays returns the devnet's own relay and those of the configuration.
func (l *lab) relays() ([]Relay, error) {
	list := []Relay{{Name: "relay", URL: l.relayURL, Pubkey: network.RelayKey(l.cfg.Seed, 0).PublicKey()}}
	if l.cfg.StakedBuilder {
		list[0].Pubkey = phase0.BLSPubKey{} // it also hands on bids under another builder's key
	}
	for _, address := range l.cfg.Relays {
		base, key, err := devnet.ParseRelay(address)
		if err != nil {
			return nil, err
		}
		list = append(list, Relay{Name: base, URL: base, Pubkey: key})
	}
	return list, nil
}

// relayAddress returns the relay's URL with its key in the user part, as sidecars are configured.
func (l *lab) relayAddress() string {
	return network.RelayAddress(l.listeners[1].Addr().String(), network.RelayKey(l.cfg.Seed, 0))
}
