package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

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

// runWorld runs a world until the context ends. It prints what a target and target.yaml need to
// know about it.
func runWorld(ctx context.Context, cmd *cli.Command) error {
	of, err := worldOf(cmd)
	if err != nil {
		return err
	}
	if cmd.Bool("with-services") {
		t, end, err := app.Open(ctx, app.Source{Local: true, World: of, Notes: os.Stderr})
		if err != nil {
			return err
		}
		fmt.Printf("relay   %s\nstream  %s\nrpc     %s\nworld   %s\n", t.Relay.ProposerURL, t.Stream.URL, t.RPC.URL,
			t.Chain.WorldURL)
		<-ctx.Done()
		end()
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
