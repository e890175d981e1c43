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

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/node/state"
	"github.com/gavel-relay/gavel/internal/serve"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	streamapp "github.com/gavel-relay/gavel/stream/app"
)

// lab is a world with gavel's own services in it, which know no more of it than its addresses.
type lab struct {
	Target *target.Target

	world *world.World
	relay *relayapp.App
	rpc   *rpcapp.App
	// stream tells of the orders of rpc.
	stream *streamapp.App
	nodes  *state.States
	stop   context.CancelFunc
	group  *errgroup.Group
}

// startLab starts all of it; Stop ends it.
func startLab(ctx context.Context, slot time.Duration) (l *lab, err error) {
	ctx, stop := context.WithCancel(ctx)
	l = &lab{stop: stop, group: new(errgroup.Group)}
	defer func(opened *lab) { // what is returned is nil then
		if err != nil {
			opened.Stop()
		}
	}(l)
	if l.world, err = world.New(world.Config{Slot: slot}); err != nil {
		return nil, err
	}
	l.group.Go(func() error { return l.world.Run(ctx) })
	quiet := slog.New(slog.DiscardHandler)
	key := bls.Derive("conformance relay", 1)
	l.relay, err = relayapp.New(ctx, relayapp.Config{
		BeaconURLs: []string{l.world.Facts.BeaconURL}, Key: key, Validator: l.world.Validator(), HeaderCutOff: slot, PayloadCutOff: 2 * slot,
		RevealDelay: time.Millisecond, Limits: relayapp.Limits{PerSecond: -1}, Log: quiet,
	})
	if err != nil {
		return nil, fmt.Errorf("open the relay: %w", err)
	}
	relayAt, err := l.serve(ctx, l.relay.Serve)
	if err != nil {
		return nil, err
	}
	rpcAt, err := l.openRPC(ctx, slot, quiet)
	if err != nil {
		return nil, err
	}
	streamAt, err := l.openStream(ctx, quiet)
	if err != nil {
		return nil, err
	}
	public := key.PublicKey()
	l.Target = &target.Target{
		Implementation: target.Implementation{Organization: "gavel", Project: "gavel", Version: "devnet"},
		Relay:          &target.Relay{ProposerURL: relayAt, PublicKey: fmt.Sprintf("%#x", public[:])}, RPC: &target.RPC{URL: rpcAt, SendsToWorld: true},
		Stream: &target.Stream{URL: streamAt},
		Chain:  target.Chain{WorldURL: l.world.URL},
	}
	return l, l.Target.Complete()
}

// openRPC starts the bundle RPC as an operator would, with the address of an execution node.
func (l *lab) openRPC(ctx context.Context, slot time.Duration, log *slog.Logger) (string, error) {
	var err error
	if l.nodes, err = state.New(state.Options{URLs: []string{l.world.Facts.ExecutionURL}, Config: l.world.Chain().Chain().Config(), Log: log}); err != nil {
		return "", fmt.Errorf("open the bundle RPC: %w", err)
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return "", fmt.Errorf("open the bundle RPC: %w", err)
	}
	var builders []send.Builder
	for _, b := range l.world.Facts.Builders {
		builders = append(builders, send.Builder{Name: b.Name, URL: b.URL, APIs: []string{send.APIBundle, send.APIShare, send.APICancel}})
	}
	l.rpc, err = rpcapp.New(ctx, rpcapp.Config{
		Builders: builders, PayoutGas: world.PayoutGas, EarliestBlock: world.EarliestRefundBlock,
		Chain: l.nodes, States: l.nodes, ChainConfig: l.world.Chain().Chain().Config(), Key: key, BlockTime: slot, Log: log,
		FetchAhead: func(s exec.Simulator) exec.Simulator { return state.Warmed{Simulator: s, States: l.nodes} },
	})
	if err != nil {
		return "", fmt.Errorf("open the bundle RPC: %w", err)
	}
	return l.serve(ctx, l.rpc.Serve)
}

// openStream starts the event stream on the journal of the bundle RPC.
func (l *lab) openStream(ctx context.Context, log *slog.Logger) (string, error) {
	var err error
	if l.stream, err = streamapp.New(ctx, streamapp.Config{Source: l.rpc.Journal(), Network: "conformance", Log: log}); err != nil {
		return "", fmt.Errorf("open the event stream: %w", err)
	}
	return l.serve(ctx, l.stream.Serve)
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

// Stop ends the services and then their world. What fails then changes no verdict and is told on stderr.
func (l *lab) Stop() {
	l.stop()
	var failures []error
	if err := l.group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		failures = append(failures, err)
	}
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
		Name: "world", Usage: "start a beacon node, an execution node and builders for a relay or RPC under test, until Ctrl-C",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "slot", Value: 2 * time.Second, Usage: "length of a slot, in whole seconds"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:9190", Usage: "host:port that the suite steers the world at"},
			&cli.StringFlag{Name: "beacon-listen", Value: "127.0.0.1:9191", Usage: "host:port of the Beacon API"},
			&cli.StringFlag{Name: "validation-listen", Value: "127.0.0.1:9192", Usage: "host:port of flashbots_validateBuilderSubmission"},
			&cli.StringFlag{Name: "builder-listen", Value: "127.0.0.1:9193", Usage: "host:port where builders take orders, each at /NAME"},
			&cli.BoolFlag{Name: "with-services", Usage: "start gavel's own services in it as well, and print their addresses"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			return judged(runWorld(ctx, cmd))
		},
	}
}

// runWorld prints what a target and a target.yaml need to know, and goes on until the context ends.
func runWorld(ctx context.Context, cmd *cli.Command) error {
	if cmd.Bool("with-services") {
		l, err := startLab(ctx, cmd.Duration("slot"))
		if err != nil {
			return err
		}
		fmt.Printf("relay   %s\nstream  %s\nrpc     %s\nworld   %s\n", l.Target.Relay.ProposerURL, l.Target.Stream.URL, l.Target.RPC.URL, l.Target.Chain.WorldURL)
		<-ctx.Done()
		l.Stop()
		return nil
	}
	w, err := world.New(world.Config{
		Slot: cmd.Duration("slot"), Listen: cmd.String("listen"), BeaconListen: cmd.String("beacon-listen"), ValidationListen: cmd.String("validation-listen"),
		BuilderListen: cmd.String("builder-listen"),
	})
	if err != nil {
		return err
	}
	fmt.Printf("beacon node      %s\nexecution node   %s\nvalidation node  %s\n", w.Facts.BeaconURL, w.Facts.ExecutionURL, w.Facts.ValidationURL)
	for _, b := range w.Facts.Builders {
		fmt.Printf("builder %-8s %s\n", b.Name, b.URL)
	}
	fmt.Printf("\nin target.yaml:\nchain: {worldUrl: %s}\nrpc: {url: …, sendsToWorld: true}   # for a bundle RPC that sends to these builders\n", w.URL)
	return errors.Join(w.Run(ctx), w.Close())
}
