package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func replayImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import",
		Usage: "add the rows of archives to a data set of Parquet files; formats are recognised by their content, and " +
			"relays are asked by URL",
		ArgsUsage: "FILE|RUN-FOLDER|URL …",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "into", Value: "dataset", TakesFile: true, Usage: "folder of the data set"},
			&cli.StringFlag{Name: "network", Value: "mainnet",
				Usage: "network that the archives are of: mainnet, sepolia, holesky or hoodi; a run folder has one of its own; " +
					"any other name with --genesis-time"},
			&cli.Int64Flag{Name: "genesis-time", Usage: "when slot 0 of another network began, in seconds since 1970"},
			&cli.Int64Flag{Name: "slot-seconds", Value: 12, Usage: "how long its slots are"},
			&cli.StringFlag{Name: "relay", Usage: "name of the relay that the archives are of, if they do not say it"},
			&cli.StringFlag{Name: "slots", Usage: "slots that relays are asked for, FROM-TO; for URLs only"},
			&cli.DurationFlag{Name: "pace", Value: 200 * time.Millisecond,
				Usage: "least time from one request to the next; for URLs only"},
			&cli.IntFlag{Name: "batch", Value: replay.DefaultBatchRows, Usage: "rows that are held in memory at most"},
		},
		Action: importArchives,
	}
}

// importedNetwork is the one of the flag, or that of the runs to import.
func importedNetwork(cmd *cli.Command, files []string) (dataset.Network, error) {
	network, found, err := replay.RunNetwork(files)
	switch {
	case err != nil:
		return network, err
	case found && (cmd.IsSet("network") || cmd.IsSet("genesis-time")):
		return network, errors.New("a run has a network of its own: leave --network and --genesis-time away")
	case found:
		return network, nil
	case cmd.IsSet("genesis-time"):
		return dataset.OtherNetwork(cmd.String("network"), cmd.Int64("genesis-time"), cmd.Int64("slot-seconds"))
	case cmd.IsSet("slot-seconds"):
		return network, errors.New("--slot-seconds is for another network: give its --genesis-time")
	}
	return dataset.NetworkNamed(cmd.String("network"))
}

// importBytes is what an import of the usual batches stays below.
const importBytes = 368 << 20

func importArchives(ctx context.Context, cmd *cli.Command) error {
	files := cmd.Args().Slice()
	network, err := importedNetwork(cmd, files)
	if err != nil {
		return run.Usage(err)
	}
	if len(files) == 0 {
		return run.Usage(errors.New("no files: give the archives to import"))
	}
	from, err := fromRelay(cmd, files, network)
	if err != nil {
		return run.Usage(err)
	}
	if cmd.Int("batch") < 1 {
		return run.Usage(fmt.Errorf("batch is %d: give at least 1 row", cmd.Int("batch")))
	}
	// An import makes garbage faster than anything else here. It may take more memory for it, up to
	// what is promised (docs/replay.md).
	debug.SetGCPercent(300)
	debug.SetMemoryLimit(importBytes)
	results, err := replay.Import(ctx, files, replay.Options{
		Into: cmd.String("into"), Network: network, Relay: cmd.String("relay"), BatchRows: cmd.Int("batch"),
		FromRelay: from, Progress: os.Stderr,
	})
	if len(results) > 0 {
		err = errors.Join(err, replay.WriteTable(cmd.Root().Writer, results))
	}
	return err
}

// fromRelay is what relays are asked for, if there are any among what is to be imported.
func fromRelay(cmd *cli.Command, paths []string, network dataset.Network) (replay.FromRelay, error) {
	from := replay.FromRelay{To: -1, Pace: cmd.Duration("pace"), Clock: clock.Real{}}
	var err error
	if text := cmd.String("slots"); text != "" {
		if from.From, from.To, err = replay.ParseSlots(text); err != nil {
			return from, err
		}
	}
	relays := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !replay.IsRelay(path) })
	if len(relays) == 0 && cmd.IsSet("slots") {
		return from, errors.New("--slots is for relays: no URL of one is given")
	}
	for _, path := range relays {
		if err := replay.CheckRelay(path, network, from); err != nil {
			return from, err
		}
	}
	return from, nil
}
