package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
)

func proveCommand() *cli.Command {
	return &cli.Command{
		Name: "prove", Usage: "run the suite against wrong targets, and show that it notices each",
		Flags: append(worldFlags(time.Second),
			&cli.StringSliceFlag{Name: "mutant", Usage: "ids of mutants; all without"},
			&cli.StringSliceFlag{Name: "iface", Usage: "relay, stream, rpc, sidecar, builder"},
			&cli.StringFlag{Name: "shard", Usage: "which part of the mutants to run, such as 2/4; all without"},
			&cli.IntFlag{Name: "parallel", Value: 5, Usage: "how many run at a time"},
			&cli.StringFlag{
				Name: "mutants-program", TakesFile: true,
				Usage: "this program built with the mutants inside our services (make prove does)",
			},
			&cli.BoolFlag{Name: "list", Usage: "list the mutants and end"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Bool("list") {
				return app.ListMutants(os.Stdout)
			}
			return app.WithStatus(prove(ctx, cmd))
		},
	}
}

// prove judges gavel's services as a baseline, and mutants of them.
func prove(ctx context.Context, cmd *cli.Command) error {
	of, err := worldOf(cmd)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	shard, err := app.ParseShard(cmd.String("shard"))
	if err != nil {
		return err
	}
	return app.Proof{
		Shard:   shard,
		Program: program, Mutants: cmd.String("mutants-program"), Slot: cmd.Duration("slot"),
		Only: cmd.StringSlice("mutant"), Interfaces: cmd.StringSlice("iface"), Parallel: cmd.Int("parallel"), Out: os.Stdout,
	}.InWorld(ctx, of, os.Stderr)
}
