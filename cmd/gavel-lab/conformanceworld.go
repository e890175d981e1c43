package main

import (
	"cmp"
	"context"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
)

func worldCommand() *cli.Command {
	return &cli.Command{
		Name:  "world",
		Usage: "start a beacon node, an execution node and builders for a relay or RPC under test, until Ctrl-C",
		Flags: append(worldFlags(2*time.Second),
			&cli.StringFlag{Name: "host", Value: "127.0.0.1",
				Usage: "address of this machine at which all but the first of these listen; 0.0.0.0 is every one"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:9190", Usage: "host:port that the suite steers the world at"},
			&cli.StringFlag{Name: "beacon-listen", DefaultText: "HOST:9191", Usage: "host:port of the Beacon API"},
			&cli.StringFlag{Name: "validation-listen", DefaultText: "HOST:9192",
				Usage: "host:port of flashbots_validateBuilderSubmission"},
			&cli.StringFlag{Name: "builder-listen", DefaultText: "HOST:9193",
				Usage: "host:port where builders take orders, each at /NAME"},
			&cli.StringFlag{Name: "execution-listen", DefaultText: "HOST:9194",
				Usage: "host:port of the execution node's JSON-RPC"},
			&cli.BoolFlag{Name: "with-services", Usage: "start gavel's own services in it as well, and print their addresses"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			return app.WithStatus(runWorld(ctx, cmd))
		},
	}
}

// worldFlags returns the flags that worldOf reads.
func worldFlags(slot time.Duration) []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "slot", Value: slot, Usage: "length of a slot of the world, in whole seconds"},
		&cli.IntFlag{Name: "slots-per-epoch", Value: 8, Usage: "slots of an epoch of the world; public networks have 32"},
		&cli.IntFlag{Name: "validators", Value: world.UsualValidators, Usage: "validators of the world, who propose in turn"},
		&cli.StringFlag{Name: "fork", Value: "fulu", Usage: "fork of all slots of the world: " + eth.ForkNames()},
		&cli.StringFlag{Name: "fork-at", Usage: "later fork and the epoch that it begins with, such as fulu@3"},
	}
}

// worldOf reads the flags of worldFlags.
func worldOf(cmd *cli.Command) (of world.Config, err error) {
	of.Slot, of.SlotsPerEpoch, of.Validators = cmd.Duration("slot"), cmd.Int("slots-per-epoch"), cmd.Int("validators")
	if of.Fork, err = eth.ParseFork(cmd.String("fork")); err != nil {
		return of, app.Mistake("fork: %v", err)
	}
	if next := cmd.String("fork-at"); next != "" {
		points, err := devnet.ParseForks(next)
		if err != nil || len(points) != 1 {
			return of, app.Mistake("fork-at is %q: give fork@epoch, as in fulu@3", next)
		}
		of.Next, of.NextEpoch = points[0].Fork, points[0].Epoch
	}
	if err := of.Check(); err != nil {
		return of, app.Mistake("%v", err)
	}
	return of, nil
}

// runWorld runs a world as the flags say.
func runWorld(ctx context.Context, cmd *cli.Command) error {
	of, err := worldOf(cmd)
	if err != nil {
		return err
	}
	of.Host = cmd.String("host")
	at := func(flag, port string) string { return cmp.Or(cmd.String(flag), net.JoinHostPort(of.Host, port)) }
	of.Listen, of.BeaconListen, of.ValidationListen = cmd.String("listen"), at("beacon-listen", "9191"),
		at("validation-listen", "9192")
	of.BuilderListen, of.ExecutionListen = at("builder-listen", "9193"), at("execution-listen", "9194")
	return app.ServeWorld(ctx, of, cmd.Bool("with-services"), os.Stdout, os.Stderr)
}
