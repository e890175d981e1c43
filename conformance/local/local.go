// Package local starts gavel's own services in a world of the conformance suite, in this process:
// with usual settings, with small limits, and in literal mode.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/node/state"
	"github.com/gavel-relay/gavel/internal/serve"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	streamapp "github.com/gavel-relay/gavel/stream/app"
	"github.com/gavel-relay/gavel/stream/hint"
)

// Lab is a world with gavel's own services. The services reach the world at its addresses. Only the
// relays use its chain directly, to validate blocks, and the RPCs its fork schedule.
type Lab struct {
	Target *target.Target

	world *world.World
	relay *relayapp.App
	rpc   *rpcapp.App
	// stream sends events of the orders of rpc.
	stream *streamapp.App
	// limited has services with small limits, which are judged by clauses about limits only.
	limited second
	// literal has services in literal mode: they do what the description says where the others do
	// what deployed services do.
	literal second
	nodes   *state.States
	stop    context.CancelFunc
	group   *errgroup.Group
}

// Start starts the world and all services. The caller must call Stop.
func Start(ctx context.Context, of world.Config) (l *Lab, err error) {
	ctx, stop := context.WithCancel(ctx)
	l = &Lab{stop: stop, group: new(errgroup.Group)}
	defer func(opened *Lab) { // returns with an error may set l to nil
		if err != nil {
			err = errors.Join(err, opened.Stop())
		}
	}(l)
	if l.world, err = world.New(of); err != nil {
		return nil, err
	}
	l.group.Go(func() error { return l.world.Run(ctx) })
	l.Target = &target.Target{
		Implementation: target.Implementation{Organization: "gavel", Project: "gavel", Version: "devnet"},
		Chain:          target.Chain{WorldURL: l.world.URL},
	}
	if err := l.open(ctx, l.world.Spec().SlotDuration, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	if err := l.Target.Complete(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the first set of services, then those with small limits, and then those in literal
// mode. It puts their addresses into the target.
func (l *Lab) open(ctx context.Context, slot time.Duration, quiet *slog.Logger) error {
	cutOff := slot - 150*time.Millisecond // as late as the suite can observe it, so that other specs are in time
	first := relayapp.Config{
		Key: bls.Derive("conformance relay", 1), HeaderCutOff: cutOff, PayloadCutOff: 2 * slot,
		RevealDelay: time.Millisecond, Limits: relayapp.Limits{PerSecond: -1}, Log: quiet,
	}
	if err := l.openFirst(ctx, &first); err != nil {
		return err
	}
	if err := l.openOrderFlow(ctx, slot, quiet); err != nil {
		return err
	}
	limits, err := l.openLimited(ctx, slot, quiet)
	if err != nil {
		return err
	}
	limits.HeaderCutOffMs = int(cutOff.Milliseconds())
	l.Target.Limits = limits
	l.Target.Literal, err = l.openLiteral(ctx, first, slot, quiet)
	return err
}

// openFirst opens the relay at which most clauses are judged, with builders that it trusts.
func (l *Lab) openFirst(ctx context.Context, cfg *relayapp.Config) error {
	trusts, secrets, err := trustedBuilders()
	if err != nil {
		return err
	}
	cfg.Builders = trusts
	address, err := l.openRelay(ctx, &l.relay, *cfg)
	if err != nil {
		return err
	}
	public := cfg.Key.PublicKey()
	l.Target.Relay = &target.Relay{ProposerURL: address, PublicKey: fmt.Sprintf("%#x", public[:]),
		TrustedBuilders: secrets}
	return nil
}

// openOrderFlow opens the RPC, and the stream that sends events of its orders.
func (l *Lab) openOrderFlow(ctx context.Context, slot time.Duration, quiet *slog.Logger) error {
	if err := l.openNodes(quiet); err != nil {
		return err
	}
	rpcAt, err := l.openRPC(ctx, &l.rpc, rpcapp.Config{
		Builders: l.builders(), PayoutGas: network.PayoutGas, EarliestBlock: world.EarliestRefundBlock,
		BlockTime: slot, Log: quiet,
	})
	if err != nil {
		return err
	}
	l.Target.RPC = &target.RPC{URL: rpcAt, SendsToWorld: true}
	hints := hint.DefaultConfig() // with gasUsed as well, so that all that a stream may share is judged
	hints.GasUsed = true
	streamAt, err := l.openStream(ctx, &l.stream, hints,
		streamapp.Config{Limits: streamapp.Limits{PerSecond: -1}, Log: quiet})
	if err != nil {
		return err
	}
	l.Target.Stream = &target.Stream{URL: streamAt}
	return nil
}

// openRelay starts a relay in the world and returns its URL.
func (l *Lab) openRelay(ctx context.Context, into **relayapp.App, cfg relayapp.Config) (address string, err error) {
	cfg.BeaconURLs, cfg.Validator = []string{l.world.Facts.BeaconURL}, l.world.Validator()
	if *into, err = relayapp.New(ctx, cfg); err != nil {
		return "", fmt.Errorf("open the relay: %w", err)
	}
	return l.serve(ctx, (*into).Serve)
}

// openNodes connects to the world's execution node, as an operator would with its address.
func (l *Lab) openNodes(log *slog.Logger) (err error) {
	l.nodes, err = state.New(state.Options{URLs: []string{l.world.Facts.ExecutionURL},
		Config: l.world.Chain().Chain().Config(), Log: log})
	if err != nil {
		return fmt.Errorf("open the bundle RPC: %w", err)
	}
	return nil
}

// builders returns the world's builders, to which a bundle RPC may send all kinds of orders.
func (l *Lab) builders() (list []send.Builder) {
	for _, b := range l.world.Facts.Builders {
		list = append(list, send.Builder{Name: b.Name, URL: b.URL, APIs: []string{send.APIBundle, send.APIShare,
			send.APICancel}})
	}
	return list
}

// openRPC starts a bundle RPC on the world's execution node and returns its URL.
func (l *Lab) openRPC(ctx context.Context, into **rpcapp.App, cfg rpcapp.Config) (address string, err error) {
	cfg.Chain, cfg.States, cfg.ChainConfig = l.nodes, l.nodes, l.world.Chain().Chain().Config()
	cfg.FetchAhead = func(s exec.Simulator) exec.Simulator { return state.Warmed{Simulator: s, States: l.nodes} }
	if cfg.Key, err = crypto.GenerateKey(); err != nil {
		return "", fmt.Errorf("open the bundle RPC: %w", err)
	}
	if *into, err = rpcapp.New(ctx, cfg); err != nil {
		return "", fmt.Errorf("open the bundle RPC: %w", err)
	}
	return l.serve(ctx, (*into).Serve)
}

// openStream starts an event stream on the journal of the bundle RPC and returns its URL.
func (l *Lab) openStream(ctx context.Context, into **streamapp.App, hints hint.Config,
	cfg streamapp.Config) (address string, err error) {
	cfg.Source, cfg.Network, cfg.Hints = l.rpc.Journal(), "conformance", &hints
	if *into, err = streamapp.New(ctx, cfg); err != nil {
		return "", fmt.Errorf("open the event stream: %w", err)
	}
	return l.serve(ctx, (*into).Serve)
}

// serve runs a service at a free port and returns its URL.
func (l *Lab) serve(ctx context.Context, service func(context.Context, net.Listener) error) (string, error) {
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.group.Go(func() error { return service(ctx, listener) })
	return "http://" + listener.Addr().String(), nil
}

// Stop ends the services and then their world. It must be called once.
func (l *Lab) Stop() error {
	l.stop()
	var failures []error
	if err := l.group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		failures = append(failures, err)
	}
	failures = append(failures, l.limited.close(), l.literal.close())
	if l.relay != nil {
		failures = append(failures, l.relay.Close())
	}
	if l.stream != nil {
		failures = append(failures, l.stream.Close())
	}
	if l.rpc != nil {
		failures = append(failures, l.rpc.Close())
	}
	if l.nodes != nil {
		_ = l.nodes.Close() // connections that were read from
	}
	if l.world != nil {
		failures = append(failures, l.world.Close())
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("stop the devnet: %w", err)
	}
	return nil
}
