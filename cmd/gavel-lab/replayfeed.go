package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func replayFeedCommand() *cli.Command {
	return &cli.Command{
		Name: "feed",
		Usage: "hold auctions of a data set again at a relay that follows a conformance world: blocks that pay what was " +
			"bid, at the times of the archive; and compare what the relay serves and lists with the replay",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dataset", Value: "dataset", TakesFile: true, Usage: "folder of the data set"},
			&cli.StringFlag{Name: "relay", Required: true,
				Usage: "URL of the relay, which follows the world; http://0xKEY@host:port also says its key"},
			&cli.StringFlag{Name: "world", Value: "http://127.0.0.1:9190",
				Usage: "URL of the world, as conformance world --listen says"},
			&cli.StringFlag{Name: "archived-relay", Usage: "feed only the auctions that the archive has of this relay"},
			&cli.Int64SliceFlag{Name: "slot", Usage: "feed only the auctions of this slot; may be repeated"},
			&cli.IntFlag{Name: "most", Usage: "feed so many auctions at most; 0 is all"},
			&cli.FloatFlag{Name: "speed", DefaultText: "that of the world's slots",
				Usage: "how many times as fast as in the archive bids are sent"},
			&cli.StringSliceFlag{Name: "infer",
				Usage: "how to infer what archives do not say, as rule=choice; see docs/replay.md"},
			&cli.StringFlag{Name: "what-if", TakesFile: true,
				Usage: "hold the auctions as they would have been under this file's rules, once for each of its variants"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON, with all differences"},
		},
		Action: feedAuctions,
	}
}

func feedAuctions(ctx context.Context, cmd *cli.Command) error {
	how, err := backtest.Infer(cmd.StringSlice("infer"))
	if err != nil {
		return run.Usage(err)
	}
	if speed := cmd.Float("speed"); speed < 0 {
		return run.Usage(fmt.Errorf("speed %g: give a number above 0", speed))
	}
	variants, err := readWhatIf(cmd)
	if err != nil {
		return err
	}
	var printed error
	report, err := replay.Feed(ctx, replay.FeedOptions{
		Dir: cmd.String("dataset"), How: how, Variants: variants, Slots: cmd.Int64Slice("slot"),
		Archived: cmd.String("archived-relay"),
		Most:     cmd.Int("most"), RelayURL: cmd.String("relay"), WorldURL: cmd.String("world"), Speed: cmd.Float("speed"),
		Clock: clock.Real{},
		Told: func(fed *replay.Fed) {
			if !cmd.Bool("json") {
				printed = errors.Join(printed, fed.WriteText(cmd.Root().Writer))
			}
		},
	})
	if report != nil && cmd.Bool("json") {
		encoder := json.NewEncoder(cmd.Root().Writer)
		encoder.SetIndent("", "  ")
		printed = encoder.Encode(report)
	}
	if err := errors.Join(err, printed); err != nil {
		return err
	}
	if !report.Judged() {
		return errors.New("an auction was not judged, since this machine was too late")
	}
	if !report.OK() {
		return errors.New("the relay differs from the replay")
	}
	return nil
}
