package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
	scenarioapp "github.com/gavel-relay/gavel/scenarios/app"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

func scenarioCommand(start scenarioapp.Start) *cli.Command {
	return &cli.Command{
		Name:  "scenario",
		Usage: "run stories of auctions, faults and agents, and judge how they end",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list the library, each story with the first sentence of why it is told",
				Action: func(_ context.Context, cmd *cli.Command) error { return scenarioapp.List(cmd.Root().Writer) },
			},
			{
				Name: "explain", Usage: "say in words what a scenario does", ArgsUsage: "NAME|FILE",
				Action: func(_ context.Context, cmd *cli.Command) error {
					plans, err := openPlans(cmd)
					for _, p := range plans {
						_, failed := io.WriteString(cmd.Root().Writer, p.Explain())
						err = errors.Join(err, failed)
					}
					return err
				},
			},
			{
				Name: "language", Usage: "print everything that a scenario may say, in Markdown",
				Action: func(_ context.Context, cmd *cli.Command) error {
					_, err := io.WriteString(cmd.Root().Writer, scenarios.Catalogue())
					return err
				},
			},
			{
				Name:      "replay",
				Usage:     "run the auctions of a run folder again from its facts, and print who led after each as NDJSON",
				ArgsUsage: "FOLDER",
				Action: func(_ context.Context, cmd *cli.Command) error {
					return scenarioapp.Replay(cmd.Root().Writer, cmd.Args().First())
				},
			},
			{
				Name: "show", ArgsUsage: "FOLDER",
				Usage: "draw a run folder as one HTML file: slots in time, faults as bands, each fact by a click",
				Flags: []cli.Flag{&cli.StringFlag{Name: "html", DefaultText: "run.html in the folder", TakesFile: true,
					Usage: "file to write"}},
				Action: showScenario,
			},
			{
				Name: serviceName, Usage: "be a service of a scenario: the run starts it", Hidden: true,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "disk", Usage: "start one whose data, in this folder, is on a disk that can break"},
					&cli.BoolFlag{Name: "probe-disk", Usage: "say whether this machine can have such a disk"},
				},
				Action: beService,
			},
			scenarioRunCommand(start),
		},
	}
}

// showScenario writes the page of a run folder, and prints where it is.
func showScenario(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return run.Usage(errors.New("name one run folder, as in runs/relay-killed.1"))
	}
	folder := cmd.Args().First()
	path := cmp.Or(cmd.String("html"), filepath.Join(folder, "run.html"))
	if err := scenarioapp.WriteTimeline(folder, path); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.Root().Writer, path)
	return err
}

func scenarioRunCommand(start scenarioapp.Start) *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run scenarios of the library or of files, and judge how they end", ArgsUsage: "NAME|FILE …",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "run the whole library"},
			&cli.BoolFlag{Name: "faults",
				Usage: "run the stories of the library in which a process, its disk, its journal or its clock breaks"},
			&cli.BoolFlag{Name: "watch", Usage: "draw each slot live in the terminal"},
			&cli.BoolFlag{Name: "web",
				Usage: "show the run as a page for browsers, on 127.0.0.1; it stays when all is over, until Ctrl-C"},
			&cli.IntFlag{Name: "web-port", Usage: "port of that page; 0 takes any free one"},
			&cli.BoolFlag{Name: "variants", Usage: "run all variants, and not only the first"},
			&cli.BoolFlag{Name: "prove", Usage: "run once more without the key fault: then an expectation must break"},
			&cli.StringFlag{Name: "prove-shard", DefaultText: "all",
				Usage: "with --prove, do so for the stories of one part, such as 2/3; all of them are run"},
			&cli.Uint64Flag{Name: "seed", DefaultText: "the plan's", Usage: "the same seed gives the same keys and choices"},
			&cli.BoolFlag{Name: "again",
				Usage: "run what does not end as it must once more at a third of its speed, where a busy machine counts less"},
			&cli.IntFlag{Name: "at-once", Value: 1, Usage: "scenarios that run at a time"},
			&cli.StringFlag{Name: "dir", Value: "runs", TakesFile: true, Usage: "directory for run folders"},
			&cli.BoolFlag{Name: "verbose",
				Usage: "print the log of the run's parts to stderr, and have services log more: each into a file of " +
					"the run folder"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error { return runScenarios(ctx, cmd, start) },
	}
}

// serviceName is the command that runs this program as a service of a scenario.
const serviceName = "service"

// serviceCommand returns the command line by which this program starts a service of a scenario.
func serviceCommand() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{path, "scenario", serviceName}, nil
}

// beService runs this process as what the scenario asked for: a service, or the machine with a disk
// of its own that runs one. With --probe-disk it only tries whether such a machine works here.
func beService(ctx context.Context, cmd *cli.Command) error {
	switch dir := cmd.String("disk"); {
	case cmd.Bool("probe-disk"):
		return scenarioapp.ProbeMachine()
	case dir != "":
		program, err := serviceCommand()
		if err != nil {
			return err
		}
		return scenarioapp.Machine(dir, program, cmd.Root().Writer)
	default:
		return scenarioapp.Serve(ctx, os.Stdin, cmd.Root().Writer)
	}
}

// openPlans opens the scenarios that flags or arguments name, with the seed of the flag if it was
// given.
func openPlans(cmd *cli.Command) ([]*scenarios.Plan, error) {
	names := cmd.Args().Slice()
	switch {
	case cmd.Bool("all"):
		names = scenarios.Names()
	case cmd.Bool("faults"):
		var err error
		if names, err = scenarios.FaultNames(); err != nil {
			return nil, err
		}
	}
	plans, err := scenarioapp.OpenPlans(names)
	if err != nil {
		return nil, run.Usage(err)
	}
	for i := range plans {
		if !cmd.IsSet("seed") {
			break
		}
		if plans[i], err = plans[i].Seeded(cmd.Uint64("seed")); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func runScenarios(ctx context.Context, cmd *cli.Command, start scenarioapp.Start) error {
	log := slog.New(slog.DiscardHandler)
	if cmd.Bool("verbose") {
		var err error
		if log, err = run.NewLogger(os.Stderr, run.LogOptions{Level: "debug"}); err != nil {
			return err
		}
	}
	slog.SetDefault(log)
	atOnce := cmd.Int("at-once")
	if atOnce < 1 || atOnce > 16 || atOnce > 1 && (cmd.Bool("watch") || cmd.Bool("web")) {
		return run.Usage(fmt.Errorf("at-once is %d: give a number from 1 to 16; only 1 can be watched", atOnce))
	}
	plans, err := openPlans(cmd)
	if err != nil {
		return err
	}
	program, err := serviceCommand()
	if err != nil {
		return err
	}
	runs := scenarioapp.Runs{
		Start: start, AtOnce: atOnce, Again: cmd.Bool("again"), Watch: cmd.Bool("watch"), Out: cmd.Root().Writer,
		Options: scenarioapp.Options{
			Dir: cmd.String("dir"), Variants: cmd.Bool("variants"), Prove: cmd.Bool("prove"), Log: log, Program: program,
		},
	}
	if text := cmd.String("prove-shard"); text != "" {
		part, parts, err := replay.ParseShard(text)
		if err != nil || !cmd.Bool("prove") {
			return run.Usage(errors.Join(fmt.Errorf("prove-shard is %q: give it with --prove, such as 2/3", text), err))
		}
		runs.ProvePart, runs.ProveParts = int(part), int(parts)
	}
	if cmd.Bool("web") {
		return runOnPage(ctx, plans, runs, cmd.Int("web-port"))
	}
	return scenarioapp.RunEach(ctx, plans, runs)
}

// runOnPage runs scenarios and shows them to browsers, also when they are over, until the context
// ends.
func runOnPage(ctx context.Context, plans []*scenarios.Plan, runs scenarioapp.Runs, port int) (err error) {
	if runs.Page, err = scenarioapp.OpenPage(port); err != nil {
		return run.Usage(err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- runs.Page.Serve(serving, runs.Options.Log) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	if _, err := fmt.Fprintln(runs.Out, "page: "+runs.Page.URL()); err != nil {
		return fmt.Errorf("say where the page is: %w", err)
	}
	err = scenarioapp.RunEach(ctx, plans, runs)
	if ctx.Err() == nil {
		_, said := fmt.Fprintln(runs.Out, "the page stays until Ctrl-C: "+runs.Page.URL())
		err = errors.Join(err, said)
		<-ctx.Done()
	}
	return err
}
