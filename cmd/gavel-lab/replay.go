package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:  "replay",
		Usage: "make a data set of archives of auctions, and replay them in the relay's auction code",
		Commands: []*cli.Command{
			replayGenerateCommand(),
			replayImportCommand(),
			replayRunCommand(),
			replayMergeCommand(),
			replayExportCommand(),
			replayFiguresCommand(),
			replayQueryCommand(),
			replayShellCommand(),
			replayFeedCommand(),
		},
	}
}

func replayRunCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "play the auctions of a data set in the relay's auction code, and explain where the archive differs",
		Flags: append(auctionFlags(),
			&cli.StringFlag{Name: "shard", Value: "1/1",
				Usage: "replay only a part of the slots, i/n; replay merge puts the parts' results together"},
			&cli.StringFlag{Name: "out", TakesFile: true,
				Usage: "folder for results.parquet and results.csv, with a row for each auction, and report.json"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON"},
		),
		Action: replayAuctions,
	}
}

// auctionFlags say which auctions are replayed, and how.
func auctionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "dataset", Value: "dataset", TakesFile: true, Usage: "folder of the data set"},
		&cli.StringSliceFlag{Name: "infer",
			Usage: "how to infer what archives do not say, as rule=choice; see docs/replay.md"},
		&cli.StringFlag{Name: "what-if", TakesFile: true,
			Usage: "hold the auctions also under the rules of this file, in each of its variants; see docs/replay.md"},
		&cli.StringFlag{Name: "relay", Usage: "replay only the auctions of this relay"},
	}
}

func replayFiguresCommand() *cli.Command {
	return &cli.Command{
		Name:  "figures",
		Usage: "draw the auctions of a data set: one page that needs nothing else, and an SVG and a CSV for each figure",
		Flags: append(auctionFlags(),
			&cli.Int64Flag{Name: "slot", Usage: "slot whose bid curve is drawn; without it the auction with the most bids"},
			&cli.StringFlag{Name: "out", Value: "figures", TakesFile: true, Usage: "folder for the files, which are replaced"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			options, err := runOptions(cmd)
			if err != nil {
				return err
			}
			options.Shard, options.Shards = 1, 1
			all, err := replay.Figures(ctx, replay.FigureOptions{
				RunOptions: options, Slot: cmd.Int64("slot"), To: cmd.String("out"),
			})
			if err != nil {
				return err
			}
			return replay.WriteFigures(cmd.Root().Writer, cmd.String("out"), all)
		},
	}
}

func replayExportCommand() *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "write the rows of a data set in a format of archives, and count what the format cannot say",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dataset", Value: "dataset", TakesFile: true, Usage: "folder of the data set"},
			&cli.StringFlag{Name: "format", Required: true, Usage: "relayscan, data-api, xatu, parquet or csv"},
			&cli.StringFlag{Name: "relay", Usage: "write only the rows of this relay"},
			&cli.StringFlag{Name: "out", Value: "export", TakesFile: true, Usage: "folder for the files, which are replaced"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			format, err := dataset.ExportNamed(cmd.String("format"))
			if err != nil {
				return run.Usage(err)
			}
			done, err := replay.Export(ctx, replay.ExportOptions{
				Dir: cmd.String("dataset"), Out: cmd.String("out"), Format: format, Relay: cmd.String("relay"),
			})
			if err != nil {
				return err
			}
			return replay.WriteExported(cmd.Root().Writer, done)
		},
	}
}

// runOptions reads the flags of auctionFlags.
func runOptions(cmd *cli.Command) (options replay.RunOptions, err error) {
	options = replay.RunOptions{Dir: cmd.String("dataset"), Relay: cmd.String("relay")}
	if options.How, err = backtest.Infer(cmd.StringSlice("infer")); err != nil {
		return options, run.Usage(err)
	}
	options.Variants, err = readWhatIf(cmd)
	return options, err
}

// readWhatIf reads the file of the flag what-if; none without the flag.
func readWhatIf(cmd *cli.Command) (variants []backtest.Variant, err error) {
	file := cmd.String("what-if")
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, run.Usage(fmt.Errorf("read the what-if: %w", err))
	}
	list, err := scenarios.ParseWhatIf(file, text)
	if err != nil {
		return nil, run.Usage(err)
	}
	for _, w := range list {
		variants = append(variants, backtest.NewVariant(w))
	}
	return variants, nil
}

func replayAuctions(ctx context.Context, cmd *cli.Command) error {
	options, err := runOptions(cmd)
	if err != nil {
		return err
	}
	options.Out = cmd.String("out")
	if options.Shard, options.Shards, err = replay.ParseShard(cmd.String("shard")); err != nil {
		return run.Usage(err)
	}
	report, err := replay.Run(ctx, options)
	if err != nil {
		return err
	}
	return writeReport(cmd, report)
}
