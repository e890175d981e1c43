package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func replayGenerateCommand() *cli.Command {
	return &cli.Command{
		Name: "generate",
		Usage: "make a data set of a devnet with order flow, all tables and a data dictionary; the same seed gives the " +
			"same bytes",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "what all that is random is drawn from"},
			&cli.IntFlag{Name: "slots", Value: 1000, Usage: "how many slots of 12 s to play"},
			&cli.StringFlag{Name: "into", Value: "dataset", TakesFile: true,
				Usage: "folder for the data set; it must not be there yet, or be empty"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			tally, err := replay.Generate(ctx, replay.GenerateOptions{
				Into: cmd.String("into"), Seed: cmd.Uint64("seed"), Slots: cmd.Int("slots"), Progress: cmd.Root().ErrWriter,
			})
			if err != nil {
				return err
			}
			for _, table := range dataset.Tables {
				if _, err := fmt.Fprintf(cmd.Root().Writer, "%-14s %8d rows\n", table.TableName(),
					tally.Rows(table.TableName())); err != nil {
					return fmt.Errorf("print the counts: %w", err)
				}
			}
			return nil
		},
	}
}
