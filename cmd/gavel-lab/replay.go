package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:  "replay",
		Usage: "make a data set of archives of auctions",
		Commands: []*cli.Command{
			{
				Name:      "import",
				Usage:     "add the rows of archives to a data set of Parquet files; formats are recognised by their content",
				ArgsUsage: "FILE …",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "into", Value: "dataset", TakesFile: true, Usage: "folder of the data set"},
					&cli.StringFlag{Name: "network", Value: "mainnet",
						Usage: "network that the archives are of: mainnet, sepolia, holesky or hoodi"},
					&cli.StringFlag{Name: "relay", Usage: "name of the relay that the archives are of, if they do not say it"},
					&cli.IntFlag{Name: "batch", Value: replay.DefaultBatchRows, Usage: "rows that are held in memory at most"},
				},
				Action: importArchives,
			},
		},
	}
}

func importArchives(ctx context.Context, cmd *cli.Command) error {
	network, err := dataset.NetworkNamed(cmd.String("network"))
	if err != nil {
		return run.Usage(err)
	}
	files := cmd.Args().Slice()
	if len(files) == 0 {
		return run.Usage(errors.New("no files: give the archives to import"))
	}
	if cmd.Int("batch") < 1 {
		return run.Usage(fmt.Errorf("batch is %d: give at least 1 row", cmd.Int("batch")))
	}
	results, err := replay.Import(ctx, files, replay.Options{
		Into: cmd.String("into"), Network: network, Relay: cmd.String("relay"), BatchRows: cmd.Int("batch"),
		Progress: os.Stderr,
	})
	if len(results) > 0 {
		err = errors.Join(err, replay.WriteTable(cmd.Root().Writer, results))
	}
	return err
}
