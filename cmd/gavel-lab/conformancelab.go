package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/urfave/cli/v3"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
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

// lab is a world with gavel's own services in it, which know no more of it than its addresses.
type lab struct {
	Target *target.Target

	world *world.World
	relay *relayapp.App
	rpc   *rpcapp.App
	// stream tells of the orders of rpc.
	stream *streamapp.App
	// limited can take less than the others, and is judged by that alone.
	limited second
	// literal does what the description says, where the others do what is deployed.
	literal second
	nodes   *state.States
	stop    context.CancelFunc
	group   *errgroup.Group
}

// startLab starts all of it; Stop ends it.
func startLab(ctx context.Context, of world.Config) (l *lab, err error) {
	ctx, stop := context.WithCancel(ctx)
	l = &lab{stop: stop, group: new(errgroup.Group)}
	defer func(opened *lab) { // what is returned is nil then
		if err != nil {
			opened.Stop()
		}
	}(l)
	if l.world, err = world.New(of); err != nil {
		return nil, err
	}
	slot := l.world.Spec().SlotDuration
	l.group.Go(func() error { return l.world.Run(ctx) })
	quiet := slog.New(slog.DiscardHandler)
	key := bls.Derive("conformance relay", 1)
	cutOff := slot - 150*time.Millisecond // as late as the suite can still see it, so that no other spec is late
	trusts, secrets, err := trustedBuilders()
	if err != nil {
		return nil, err
	}
	first := relayapp.Config{
		Key: key, HeaderCutOff: cutOff, PayloadCutOff: 2 * slot, RevealDelay: time.Millisecond,
		Limits: relayapp.Limits{PerSecond: -1}, Builders: trusts,
		Log: quiet,
	}
	relayAt, err := l.openRelay(ctx, &l.relay, first)
	if err != nil {
		return nil, err
	}
	if err := l.openNodes(quiet); err != nil {
		return nil, err
	}
	rpcAt, err := l.openRPC(ctx, &l.rpc, rpcapp.Config{
		Builders: l.builders(), PayoutGas: network.PayoutGas, EarliestBlock: world.EarliestRefundBlock,
		BlockTime: slot, Log: quiet,
	})
	if err != nil {
		return nil, err
	}
	hints := hint.DefaultConfig() // all that a stream may share, so that all of it is judged
	hints.GasUsed = true
	streamAt, err := l.openStream(ctx, &l.stream, hints,
		streamapp.Config{Limits: streamapp.Limits{PerSecond: -1}, Log: quiet})
	if err != nil {
		return nil, err
	}
	limits, err := l.openLimited(ctx, slot, quiet)
	if err != nil {
		return nil, err
	}
	literally, err := l.openLiteral(ctx, first, slot, quiet)
	if err != nil {
		return nil, err
	}
	limits.HeaderCutOffMs = int(cutOff.Milliseconds())
	public := key.PublicKey()
	l.Target = &target.Target{
		Implementation: target.Implementation{Organization: "gavel", Project: "gavel", Version: "devnet"},
		Relay: &target.Relay{ProposerURL: relayAt, PublicKey: fmt.Sprintf("%#x", public[:]),
			TrustedBuilders: secrets},
		RPC:    &target.RPC{URL: rpcAt, SendsToWorld: true},
		Stream: &target.Stream{URL: streamAt},
		Chain:  target.Chain{WorldURL: l.world.URL}, Limits: limits, Literal: literally,
	}
	return l, l.Target.Complete()
}

// openRelay starts a relay on the world.
func (l *lab) openRelay(ctx context.Context, into **relayapp.App, cfg relayapp.Config) (address string, err error) {
	cfg.BeaconURLs, cfg.Validator = []string{l.world.Facts.BeaconURL}, l.world.Validator()
	if *into, err = relayapp.New(ctx, cfg); err != nil {
		return "", fmt.Errorf("open the relay: %w", err)
	}
	return l.serve(ctx, (*into).Serve)
}

// openNodes connects to the world's execution node, as an operator would with its address.
func (l *lab) openNodes(log *slog.Logger) (err error) {
	l.nodes, err = state.New(state.Options{URLs: []string{l.world.Facts.ExecutionURL},
		Config: l.world.Chain().Chain().Config(), Log: log})
	if err != nil {
		return fmt.Errorf("open the bundle RPC: %w", err)
	}
	return nil
}

// builders are the world's, who take whatever a bundle RPC sends.
func (l *lab) builders() (list []send.Builder) {
	for _, b := range l.world.Facts.Builders {
		list = append(list, send.Builder{Name: b.Name, URL: b.URL, APIs: []string{send.APIBundle, send.APIShare,
			send.APICancel}})
	}
	return list
}

// openRPC starts a bundle RPC on the world's execution node.
func (l *lab) openRPC(ctx context.Context, into **rpcapp.App, cfg rpcapp.Config) (address string, err error) {
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

// openStream starts an event stream on the journal of the bundle RPC.
func (l *lab) openStream(ctx context.Context, into **streamapp.App, hints hint.Config,
	cfg streamapp.Config) (address string, err error) {
	cfg.Source, cfg.Network, cfg.Hints = l.rpc.Journal(), "conformance", &hints
	if *into, err = streamapp.New(ctx, cfg); err != nil {
		return "", fmt.Errorf("open the event stream: %w", err)
	}
	return l.serve(ctx, (*into).Serve)
}

// serve serves a service at a free port and returns its URL.
func (l *lab) serve(ctx context.Context, service func(context.Context, net.Listener) error) (string, error) {
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.group.Go(func() error { return service(ctx, listener) })
	return "http://" + listener.Addr().String(), nil
}

// Stop ends the services and then their world. What fails then changes no verdict and is told on
// stderr.
func (l *lab) Stop() {
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
		fmt.Fprintf(os.Stderr, "stop the devnet: %v\n", err)
	}
}

func worldCommand() *cli.Command {
	return &cli.Command{
		Name:  "world",
		Usage: "start a beacon node, an execution node and builders for a relay or RPC under test, until Ctrl-C",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "slot", Value: 2 * time.Second, Usage: "length of a slot, in whole seconds"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:9190", Usage: "host:port that the suite steers the world at"},
			&cli.StringFlag{Name: "beacon-listen", Value: "127.0.0.1:9191", Usage: "host:port of the Beacon API"},
			&cli.StringFlag{Name: "validation-listen", Value: "127.0.0.1:9192",
				Usage: "host:port of flashbots_validateBuilderSubmission"},
			&cli.StringFlag{Name: "builder-listen", Value: "127.0.0.1:9193",
				Usage: "host:port where builders take orders, each at /NAME"},
			&cli.StringFlag{Name: "fork", Value: "fulu", Usage: "fork of all slots: " + eth.ForkNames()},
			&cli.BoolFlag{Name: "with-services", Usage: "start gavel's own services in it as well, and print their addresses"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			return judged(runWorld(ctx, cmd))
		},
	}
}

// worldOf reads the flags --slot and --fork.
func worldOf(cmd *cli.Command) (of world.Config, err error) {
	of.Slot = cmd.Duration("slot")
	if of.Fork, err = eth.ParseFork(cmd.String("fork")); err != nil {
		return of, app.Mistake("fork: %v", err)
	}
	if err := of.Check(); err != nil {
		return of, app.Mistake("%v", err)
	}
	return of, nil
}

// runWorld prints what a target and a target.yaml need to know, and goes on until the context ends.
func runWorld(ctx context.Context, cmd *cli.Command) error {
	of, err := worldOf(cmd)
	if err != nil {
		return err
	}
	if cmd.Bool("with-services") {
		l, err := startLab(ctx, of)
		if err != nil {
			return err
		}
		fmt.Printf("relay   %s\nstream  %s\nrpc     %s\nworld   %s\n", l.Target.Relay.ProposerURL, l.Target.Stream.URL,
			l.Target.RPC.URL, l.Target.Chain.WorldURL)
		<-ctx.Done()
		l.Stop()
		return nil
	}
	of.Listen, of.BeaconListen, of.ValidationListen = cmd.String("listen"), cmd.String("beacon-listen"),
		cmd.String("validation-listen")
	of.BuilderListen = cmd.String("builder-listen")
	w, err := world.New(of)
	if err != nil {
		return err
	}
	fmt.Printf("beacon node      %s\nexecution node   %s\nvalidation node  %s\n", w.Facts.BeaconURL, w.Facts.ExecutionURL,
		w.Facts.ValidationURL)
	for _, b := range w.Facts.Builders {
		fmt.Printf("builder %-8s %s\n", b.Name, b.URL)
	}
	fmt.Printf("\nin target.yaml:\nchain: {worldUrl: %s}\nrpc: {url: …, sendsToWorld: true}   # for a bundle RPC that "+
		"sends to these builders\n", w.URL)
	return errors.Join(w.Run(ctx), w.Close())
}
