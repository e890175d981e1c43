package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve"
)

// OwnConsensus is what --consensus says for the devnet's own proposers.
const OwnConsensus = "gavel"

// OpenConsensus opens the scripted relays for a target that is a consensus client. The devnet's own
// proposers get a network of their own. The network of a client that runs already is learnt from
// its beacon node; the client must have the relays in its configuration, at the address listen.
// The proposals are nil for a target that is none. End is never nil.
func OpenConsensus(ctx context.Context, t *target.Target, fork eth.Fork, listen string, log io.Writer) (
	p *scripted.Proposals, end func(), err error) {
	end = func() {}
	if t.Consensus == nil {
		return nil, end, nil
	}
	var stop func() error
	if t.Consensus.Own {
		p, stop, err = runOwnConsensus(ctx, fork)
	} else {
		p, err = openRunningConsensus(ctx, t.Consensus.BeaconURL, listen)
		stop = func() error { return nil }
	}
	if err != nil {
		return nil, end, UnusableError{fmt.Errorf("open the network of the consensus client: %w", err)}
	}
	return p, func() {
		if err := errors.Join(stop(), p.Close()); err != nil {
			fmt.Fprintln(log, err)
		}
	}, nil
}

// The own network. Its clock is three times as fast as the wall at most, so that a slot has a
// second, and a relay that keeps silent is waited for during a third of it.
const (
	consensusSlot       = 3 * time.Second
	consensusSpeed      = 3
	consensusValidators = 4
	consensusWait       = 300 * time.Millisecond
)

// runOwnConsensus runs the devnet's proposers in a network of their own.
func runOwnConsensus(ctx context.Context, fork eth.Fork) (p *scripted.Proposals, stop func() error, err error) {
	n, err := network.Open(network.Config{Speed: consensusSpeed, Slot: consensusSlot, SlotsPerEpoch: 8,
		Forks: []eth.ForkPoint{{Fork: fork}}, Validators: consensusValidators, Seed: 1})
	if err != nil {
		return nil, nil, fmt.Errorf("open a network: %w", err)
	}
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return nil, nil, errors.Join(err, n.Close())
	}
	server := &http.Server{Handler: n.Beacon.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // stop ends it
	at := "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(ctx)
	group := new(errgroup.Group)
	stop = func() error {
		cancel()
		return errors.Join(server.Close(), group.Wait(), n.Close())
	}
	p, err = scripted.OpenProposals(ctx, scripted.ProposalsConfig{BeaconURL: at, Clock: n.Clock, SlotsPerEpoch: 8,
		Network: scripted.Network{GenesisTime: n.Spec.GenesisTime, GenesisForkVersion: n.Spec.GenesisForkVersion,
			Slot: consensusSlot, Fork: fork}})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	relays, err := proposer.Dial(p.URLs())
	if err != nil {
		return nil, nil, errors.Join(err, stop(), p.Close())
	}
	keys := map[phase0.ValidatorIndex]*bls.SecretKey{}
	for i := range phase0.ValidatorIndex(consensusValidators) {
		keys[i] = n.Beacon.ValidatorKey(i)
	}
	client := proposer.New(proposer.Config{
		Keys: keys, FeeRecipient: func(i phase0.ValidatorIndex) bellatrix.ExecutionAddress {
			return bellatrix.ExecutionAddress{1, byte(i)}
		},
		GasLimit: network.GasLimit, Spec: n.Spec, Clock: n.Clock, BeaconURL: at, HeaderTimeout: consensusWait,
		Sidecar: &proposer.Aggregator{Spec: n.Spec, Relays: relays}, Breaker: devnet.DefaultBreakerLimits(),
	})
	group.Go(func() error { return n.Beacon.Run(ctx) })
	group.Go(func() error { return n.RunClock(ctx) })
	group.Go(func() error { return client.Run(ctx) })
	n.Clock.Start()
	return p, stop, nil
}

// openRunningConsensus opens the relays of a client that runs already.
func openRunningConsensus(ctx context.Context, beaconURL, listen string) (*scripted.Proposals, error) {
	beacon := probe.NewClient(beaconURL, nil, 10*time.Second)
	var genesis struct {
		Data struct {
			Time    int64  `json:"genesis_time,string"`
			Version string `json:"genesis_fork_version"`
		} `json:"data"`
	}
	var spec struct {
		Data map[string]any `json:"data"`
	}
	for path, into := range map[string]any{"/eth/v1/beacon/genesis": &genesis, "/eth/v1/config/spec": &spec} {
		answer, err := beacon.Do(ctx, probe.Request{Method: http.MethodGet, Path: path})
		if err == nil {
			err = answer.JSON(into)
		}
		if err != nil {
			return nil, fmt.Errorf("ask the beacon node for %s: %w", path, err)
		}
	}
	number := func(name string) (n uint64, err error) {
		if n, err = strconv.ParseUint(fmt.Sprint(spec.Data[name]), 10, 64); err != nil || n == 0 {
			return 0, fmt.Errorf("the beacon node's %s is %v", name, spec.Data[name])
		}
		return n, nil
	}
	seconds, err := number("SECONDS_PER_SLOT")
	if err != nil {
		return nil, err
	}
	perEpoch, err := number("SLOTS_PER_EPOCH")
	if err != nil {
		return nil, err
	}
	cfg := scripted.ProposalsConfig{BeaconURL: beaconURL, Clock: clock.Real{}, SlotsPerEpoch: perEpoch, Listen: listen,
		Network: scripted.Network{GenesisTime: time.Unix(genesis.Data.Time, 0), Slot: time.Duration(seconds) * time.Second}}
	if err := eth.ParseHex(genesis.Data.Version, cfg.Network.GenesisForkVersion[:]); err != nil {
		return nil, fmt.Errorf("the beacon node's genesis_fork_version: %w", err)
	}
	now := uint64(cfg.Network.At(time.Now())) / perEpoch
	for _, fork := range eth.Forks() {
		epoch, err := strconv.ParseUint(fmt.Sprint(spec.Data[strings.ToUpper(fork.String())+"_FORK_EPOCH"]), 10, 64)
		if probe.Has(fork) && err == nil && epoch <= now {
			cfg.Network.Fork = fork
		}
	}
	if cfg.Network.Fork == 0 {
		return nil, errors.New("the beacon node names no fork epoch that the suite knows")
	}
	return scripted.OpenProposals(ctx, cfg)
}
