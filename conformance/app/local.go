package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/mutant/overlay"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	devnetapp "github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/serve"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/stream"
	streamapp "github.com/gavel-relay/gavel/stream/app"
)

// Local is a world with gavel's own services, in this process: with usual settings, with small
// limits, which are judged by clauses about limits only, and in literal mode. The services reach
// the world at its addresses. Only the relays use its chain directly, to validate blocks, and the
// RPCs its fork schedule.
type Local struct {
	Target *target.Target

	world     *world.World
	instances int // of each service with usual settings
	services  []devnetapp.Service
	stop      context.CancelFunc
	group     *errgroup.Group
}

// StartLocal starts the world and all services, of those with usual settings so many instances. The
// caller must call Stop.
func StartLocal(ctx context.Context, of world.Config, budgets target.Budgets, instances int) (l *Local, err error) {
	ctx, stop := context.WithCancel(ctx)
	l = &Local{stop: stop, group: new(errgroup.Group), instances: max(instances, 1)}
	defer func(opened *Local) { // returns with an error may set l to nil
		if err != nil {
			err = errors.Join(err, opened.Stop())
		}
	}(l)
	if l.world, err = world.New(of); err != nil {
		return nil, err
	}
	if facts := l.world.Facts; facts.NextFork != "" {
		overlay.ForkAt(facts.At(facts.NextForkSlot))
	}
	l.group.Go(func() error { return l.world.Run(ctx) })
	l.Target = &target.Target{
		Implementation: target.Implementation{Organization: "gavel", Project: "gavel", Version: "devnet"},
		Chain:          target.Chain{WorldURL: l.world.URL},
		Budgets:        budgets,
	}
	if !l.world.Facts.HasGloas() { // of which only the relay has clauses
		l.Target.Sidecar, l.Target.Builder = &target.Sidecar{Own: true}, &target.Builder{Own: true}
		l.Target.Consensus = &target.Consensus{Own: true}
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	if err := l.Target.Complete(); err != nil {
		return nil, err
	}
	l.world.Start()
	return l, nil
}

// servicesSeed determines the services' keys.
const servicesSeed = 1

// The small limits, which the suite soon exceeds.
const (
	limitedPerSecond = 5
	limitedBurst     = 20
	limitedListeners = 3
	// refundsPerPage is a limit of the first RPC, so that the refunds that the suite makes fill pages.
	refundsPerPage = 4
	// eventsPerPage is a limit of the first stream, so that the events that the suite causes fill more
	// than a page.
	eventsPerPage = 24
)

// usualPerSecond is an RPC's rate for one address unless its operator says otherwise
// (docs/flags.md).
const usualPerSecond = 10_000

// set is a set of services in the world: which they are of their kind, and their settings.
type set struct {
	index  int
	relay  devnetapp.RelayConfig
	rpc    devnetapp.RPCConfig
	stream devnetapp.StreamConfig
	// orders is the journal of the RPC whose orders the stream tells; empty means the one of this set.
	orders orders
}

// orders is where a stream reads an RPC's orders: in this process, or at an address.
type orders struct {
	journal *journal.Journal
	url     string
}

// open opens the three sets of services, and puts their addresses into the target.
func (l *Local) open(ctx context.Context) error {
	slot := l.world.Spec().SlotDuration
	cutOff := slot - 150*time.Millisecond // as late as the suite can observe it, so that other specs are in time
	trusted, secrets, err := trustedBuilders()
	if err != nil {
		return err
	}
	first := set{
		relay: devnetapp.RelayConfig{
			HeaderCutOff: cutOff, PayloadCutOff: 2 * slot, RevealDelay: time.Millisecond, Trusted: trusted,
		},
		rpc: devnetapp.RPCConfig{Builders: l.registry(), EarliestBlock: world.EarliestRefundBlock,
			// The devnet's RPCs have no rate unless they are given one; this one has the usual rate.
			Limits: rpcapp.Limits{RefundsPerPage: refundsPerPage, PerSecond: usualPerSecond}},
		stream: devnetapp.StreamConfig{Hints: new(stream.DefaultHints()), MaxLimit: eventsPerPage},
	}
	literal := first
	first.stream.Hints.GasUsed = true // so that all that a stream may share is judged
	at, orders, err := l.openSet(ctx, first)
	if err != nil {
		return err
	}
	public := network.RelayKey(servicesSeed, 0).PublicKey()
	l.Target.Relay = &target.Relay{
		ProposerURL: at.Relay, PublicKey: fmt.Sprintf("%#x", public[:]), TrustedBuilders: secrets,
	}
	l.Target.RPC = &target.RPC{URL: at.RPC, SendsToWorld: true}
	l.Target.Stream = &target.Stream{URL: at.Stream}

	limited, _, err := l.openSet(ctx, set{
		index: 1, orders: orders,
		relay:  devnetapp.RelayConfig{Limits: relayapp.Limits{PerSecond: limitedPerSecond, Burst: limitedBurst}},
		rpc:    devnetapp.RPCConfig{Limits: rpcapp.Limits{PerSecond: limitedPerSecond}},
		stream: devnetapp.StreamConfig{Limits: streamapp.Limits{Listeners: limitedListeners}},
	})
	if err != nil {
		return err
	}
	l.Target.Limits = target.Limits{
		HeaderCutOffMs: int(cutOff.Milliseconds()),
		RefundsPerPage: refundsPerPage,
		Relay:          &target.Rate{PerSecond: limitedPerSecond, Burst: limitedBurst, URL: limited.Relay},
		RPC:            &target.Rate{PerSecond: limitedPerSecond, URL: limited.RPC},
		Stream:         &target.Audience{Listeners: limitedListeners, URL: limited.Stream},
	}
	literal.index, literal.orders = 2, orders
	literal.relay.Literal, literal.rpc.Literal, literal.stream.Hints = true, true, new(stream.LiteralHints())
	l.Target.Literal, _, err = l.openSet(ctx, literal)
	return err
}

// headPoll is how often the RPCs ask for a new block, in wall time. The world's clock is faster
// than the wall, so the usual half second is most of a slot: an order could be a block late for it.
const headPoll = 25 * time.Millisecond

// openSet opens and serves a set of services, with several instances of each if the set is the one
// with usual settings. It returns their URLs, and where the orders of the RPC are.
func (l *Local) openSet(ctx context.Context, s set) (at target.Literal, from orders, err error) {
	instances := 1
	if s.index == 0 && l.instances > 1 {
		instances = l.instances
		shared, err := openSharedJournal()
		if err != nil {
			return at, from, err
		}
		l.services = append(l.services, shared)
		s.relay.JournalURL, s.rpc.JournalURL, s.orders.url = shared.URL(), shared.URL(), shared.URL()
	}
	var relays, rpcs, streams []string
	for range instances {
		var one target.Literal
		if one, from, err = l.openInstance(ctx, s); err != nil {
			return at, from, err
		}
		relays, rpcs, streams = append(relays, one.Relay), append(rpcs, one.RPC), append(streams, one.Stream)
	}
	if at.Relay, err = l.balance(ctx, relays); err != nil {
		return at, from, err
	}
	if at.RPC, err = l.balance(ctx, rpcs); err != nil {
		return at, from, err
	}
	at.Stream, err = l.balance(ctx, streams)
	return at, from, err
}

// openInstance opens and serves one instance of each service of a set.
func (l *Local) openInstance(ctx context.Context, s set) (at target.Literal, from orders, err error) {
	quiet := devnetapp.Env{Clock: l.world.Clock(), Log: slog.New(slog.DiscardHandler)}
	s.relay.Index, s.relay.Seed = s.index, servicesSeed
	s.relay.Bids = s.index == 0 && l.world.Facts.HasGloas() // the world has one staked builder
	s.relay.BeaconURL, s.relay.Validator = l.world.Facts.BeaconURL, l.world.Validator()
	relay, err := devnetapp.OpenRelay(ctx, s.relay, quiet)
	if err != nil {
		return at, from, err
	}
	if at.Relay, err = l.serve(ctx, relay); err != nil {
		return at, from, err
	}
	if at.RPC, from, err = l.openRPC(ctx, s, quiet); err != nil {
		return at, from, err
	}
	if s.orders == (orders{}) {
		s.orders = from
	}
	s.stream.Network, s.stream.Source, s.stream.JournalURL = "conformance", s.orders.journal, s.orders.url
	stream, err := devnetapp.OpenStream(ctx, s.stream, quiet)
	if err != nil {
		return at, from, err
	}
	at.Stream, err = l.serve(ctx, stream)
	return at, from, err
}

// openRPC opens and serves the RPC of a set, or an instance of it.
func (l *Local) openRPC(ctx context.Context, s set, env devnetapp.Env) (at string, from orders, err error) {
	s.rpc.Index, s.rpc.Seed = s.index, servicesSeed
	s.rpc.ExecutionURL, s.rpc.Chain = l.world.Facts.ExecutionURL, l.world.Chain().Chain().Config()
	s.rpc.BlockTime, s.rpc.PollEvery = l.world.Spec().SlotDuration, headPoll
	if s.rpc.JournalURL != "" {
		instance, err := devnetapp.OpenRPCInstance(ctx, s.rpc, env)
		if err != nil {
			return "", from, err
		}
		at, err = l.serve(ctx, instance)
		return at, orders{url: s.rpc.JournalURL}, err
	}
	rpc, err := devnetapp.OpenRPC(ctx, s.rpc, env)
	if err != nil {
		return "", from, err
	}
	at, err = l.serve(ctx, rpc)
	return at, orders{journal: rpc.Journal()}, err
}

// serve runs a service at a free port and returns its URL.
func (l *Local) serve(ctx context.Context, service devnetapp.Service) (string, error) {
	l.services = append(l.services, service)
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.group.Go(func() error { return service.Serve(ctx, listener) })
	return "http://" + listener.Addr().String(), nil
}

// registry returns the world's builders, to which a bundle RPC may send all kinds of orders.
func (l *Local) registry() (list []send.Builder) {
	for _, b := range l.world.Facts.Builders {
		list = append(list, devnetapp.RegisteredBuilder(b.Name, b.URL, false))
	}
	return list
}

// Stop ends the services and then their world. It must be called once.
func (l *Local) Stop() error {
	l.stop()
	var failures []error
	if err := l.group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		failures = append(failures, err)
	}
	for _, service := range slices.Backward(l.services) { // a stream before the RPC whose journal it reads
		failures = append(failures, service.Close())
	}
	if l.world != nil {
		failures = append(failures, l.world.Close())
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("stop the devnet: %w", err)
	}
	return nil
}

// trustedCount is how many builders the relays trust. A spec uses one up, so a proof, which runs
// specs many times, needs many.
const trustedCount = 64

// trustedBuilders returns the keys of optimistic builders, whose bids count before their blocks are
// executed, by name, and their secret keys.
func trustedBuilders() (keys map[string]phase0.BLSPubKey, secrets []string, err error) {
	keys = map[string]phase0.BLSPubKey{}
	for i := range trustedCount {
		secret := sha256.Sum256(fmt.Appendf(nil, "gavel conformance trusted builder %d", i))
		secret[0] = 0 // so that it is below the curve's order
		key, err := bls.NewSecretKey(secret[:])
		if err != nil {
			return nil, nil, fmt.Errorf("make a trusted builder: %w", err)
		}
		keys[fmt.Sprintf("trusted-%d", i)] = key.PublicKey()
		secrets = append(secrets, fmt.Sprintf("%#x", secret))
	}
	return keys, secrets, nil
}
