package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func replayMergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "put the results of all shards of a replay together; the files have the bytes of a run without shards",
		ArgsUsage: "DIR …",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "into", Value: "results", TakesFile: true,
				Usage: "folder for results.parquet, results.csv and report.json"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON"},
		},
		Action: mergeResults,
	}
}

func mergeResults(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() == 0 {
		return run.Usage(errors.New("no folders: give those of all shards"))
	}
	report, err := replay.Merge(cmd.Args().Slice(), cmd.String("into"))
	if err != nil {
		return err
	}
	return writeReport(cmd, report)
}

// writeReport prints the report of a replay.
func writeReport(cmd *cli.Command, report *replay.Report) error {
	if !cmd.Bool("json") {
		return report.WriteText(cmd.Root().Writer)
	}
	encoder := json.NewEncoder(cmd.Root().Writer)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
