package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/internal/run"
)

func conformanceCommand() *cli.Command {
	return &cli.Command{
		Name:  "conformance",
		Usage: "judge any relay, stream, bundle RPC, sidecar or builder",
		// The usual status of a mistake, 2, is that of stale expectations here.
		Metadata: map[string]any{run.MistakeStatus: clauses.WrongUsage},
		Commands: []*cli.Command{
			listCommand(), explainCommand(), runCommand(), probeCommand(), proveCommand(), overlayCommand(), schemaCommand(),
			diffCommand(), matrixCommand(), vectorsCommand(), publishCommand(),
			reportCommand(), worldCommand(),
		},
	}
}

// selection returns the flags that choose clauses.
func selection() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "clause", Usage: "ids of clauses, such as REL-HDR-03 or 'REL-HDR-*'"},
		&cli.StringSliceFlag{Name: "iface", Usage: "relay, stream, rpc, sidecar, builder"},
		&cli.StringSliceFlag{Name: "profile", Usage: "groups of clauses, such as relay-proposer"},
		&cli.StringSliceFlag{Name: "level", Usage: "must, should, may, def"},
		&cli.StringFlag{Name: "mode", Value: "white", Usage: "judge clauses that need at most this: black, grey or white"},
	}
}

func listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list clauses: what a server is judged by",
		Flags: append(selection(), &cli.StringFlag{Name: "format", Value: "table", Usage: "table, json or md"}),
		Action: func(_ context.Context, cmd *cli.Command) error {
			options, err := readSelection(cmd)
			if err == nil {
				err = app.ListChosen(os.Stdout, cmd.String("format"), options)
			}
			return app.WithStatus(err)
		},
	}
}

// readSelection reads the flags that selection returns.
func readSelection(cmd *cli.Command) (app.Options, error) {
	most, err := clauses.ParseMode(cmd.String("mode"))
	if err != nil {
		return app.Options{}, app.Mistake("%v", err)
	}
	return app.Options{
		Patterns: cmd.StringSlice("clause"), Levels: cmd.StringSlice("level"), Profiles: cmd.StringSlice("profile"),
		Interfaces: cmd.StringSlice("iface"), Most: most,
	}, nil
}

func explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "say what a clause asks, where it comes from, and how it is tested",
		Flags: []cli.Flag{&cli.StringSliceFlag{Name: "clause", Required: true,
			Usage: "ids of clauses, such as REL-HDR-03 or 'REL-HDR-*'"}},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return app.WithStatus(app.Explain(os.Stdout, cmd.StringSlice("clause")))
		},
	}
}

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "judge a target, and write a report",
		Flags: append(slices.Concat(selection(), worldFlags(2*time.Second), clientFlags()),
			&cli.StringFlag{Name: "target", TakesFile: true,
				Usage: "file that says where the target is; see docs/conformance.md"},
			&cli.BoolFlag{Name: "devnet", Usage: "start gavel's own services in a world of their own, and judge them"},
			&cli.IntFlag{Name: "instances",
				Usage: "with --devnet: how many instances of each service share one journal, behind a balancer"},
			&cli.StringFlag{
				Name: "image",
				Usage: "container image of gavel that is started in a world of its own, and judged; with --target, what " +
					"${IMAGE} is in its containers",
			},
			&cli.BoolFlag{Name: "literal",
				Usage: "with --image: start its services in literal mode too, for the clauses of that mode"},
			&cli.BoolFlag{Name: "in-process",
				Usage: "with --image: where there is no engine, judge the services of this build instead"},
			&cli.StringFlag{Name: "relay", Usage: "URL of a relay, in place of a file"},
			&cli.StringFlag{Name: "stream", Usage: "URL of a stream"},
			&cli.StringFlag{Name: "rpc", Usage: "URL of a bundle RPC"},
			&cli.StringFlag{Name: "world", Usage: "URL of the world that the target follows (gavel-lab conformance world)"},
			&cli.StringFlag{Name: "expect", TakesFile: true, Usage: "file of expected failures"},
			&cli.StringFlag{Name: "out", TakesFile: true,
				Usage: "folder for report.json, report.html, junit.xml, badge.svg, shields.json, report.md, report.txt"},
			&cli.Int64Flag{Name: "seed", Usage: "order of the specs; 0 takes a new one"},
			&cli.DurationFlag{Name: "timeout", Usage: "bound of one spec; by default 1m, and more in a world of long slots"},
			&cli.BoolFlag{Name: "again", Usage: "try specs once more that come to no verdict, 12 at most; not with --devnet"},
			&cli.IntFlag{Name: "retries",
				Usage: "try specs so often again that fail or come to no verdict; what fails at times is flaky"},
			&cli.DurationFlag{Name: "deadline",
				Usage: "bound of the whole run, by default 5m without a world, and none with one"},
			&cli.BoolFlag{Name: "heavy", Usage: "send bombs, huge bodies and floods also to a target without a world"},
			&cli.BoolFlag{Name: "without-models", Usage: "leave out the random plans of models"},
			&cli.StringFlag{Name: "shard", Usage: "judge one part of the clauses, such as 2/3: the second of three"},
			&cli.StringSliceFlag{Name: "require", Usage: "features that the target must have: lacking one fails its clauses"},
			&cli.StringFlag{Name: "write-expected", TakesFile: true,
				Usage: "write what fails in this run as a file for --expect"},
			&cli.StringFlag{Name: "reason", Usage: "with --write-expected: why it is expected"},
			&cli.StringFlag{Name: "until", Usage: "with --write-expected: the last day on which it is, such as 2027-01-31"},
			&cli.StringFlag{Name: "forks",
				Usage: "run once in a world of each of these forks, such as deneb,fulu, or all; needs --out"},
			&cli.StringFlag{Name: "mutant", Usage: "put a wrong behaviour between the suite and the target; see prove"},
			&cli.StringSliceFlag{
				Name: "inside", Sources: cli.EnvVars("GAVEL_INSIDE"),
				Usage: "with --devnet, in a program built with mutants: ids of mutants inside our services; see prove",
			},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.String("forks") != "" {
				return app.WithStatus(runForks(ctx, cmd))
			}
			return app.WithStatus(runConformance(ctx, cmd))
		},
	}
}

// clientFlags returns the flags that name targets which are clients of relays.
func clientFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "sidecar",
			Usage: "URL of a sidecar, or the command that starts it, with words such as {listen} and {relays}; gavel is " +
				"our own; see docs/conformance.md",
		},
		&cli.StringFlag{Name: "relays-listen",
			Usage: "host:port of the first of the relays for a sidecar, builder or consensus client, the next ones follow; " +
				"for one that runs " +
				"already 127.0.0.1:9200"},
		&cli.StringFlag{
			Name: "builder",
			Usage: "command that starts a block builder, with words such as {relays} and {beacon}; gavel is our own, running " +
				"one that runs already in the world of --world; see docs/conformance.md",
		},
		&cli.StringFlag{
			Name: "consensus",
			Usage: "URL of the Beacon API of a consensus client that runs already with the suite's relays; gavel are the " +
				"devnet's own proposers; see docs/conformance.md",
		},
	}
}

// runConformance runs the suite as the flags say.
func runConformance(ctx context.Context, cmd *cli.Command) error {
	options, err := readSelection(cmd)
	if err != nil {
		return err
	}
	if err := readPolicy(cmd, &options); err != nil {
		return err
	}
	options.Progress = app.Progress(os.Stderr, term.IsTerminal(int(os.Stderr.Fd())))
	options.Reproduce = strings.Join(os.Args, " ")
	if cmd.Int64("seed") == 0 {
		options.Reproduce += fmt.Sprintf(" --seed %d", options.Seed)
	}
	j := app.Judgement{
		Options: options, Mutant: cmd.String("mutant"), Inside: cmd.StringSlice("inside"),
		RelaysListen: cmd.String("relays-listen"), Out: cmd.String("out"), WriteExpected: cmd.String("write-expected"),
		Reason: cmd.String("reason"), Until: cmd.String("until"), Said: os.Stdout,
	}
	if cmd.IsSet("slot") {
		j.SidecarSlot = cmd.Duration("slot")
	}
	if j.Source, err = sourceOf(cmd); err != nil {
		return err
	}
	return j.Run(ctx)
}

// readPolicy reads the flags that say how often and how long specs are tried, and how strictly they
// are judged.
func readPolicy(cmd *cli.Command, o *app.Options) (err error) {
	if o.Expected, err = app.LoadExpected(cmd.String("expect")); err != nil {
		return err
	}
	if o.Shard, err = app.ParseShard(cmd.String("shard")); err != nil {
		return err
	}
	o.Seed, o.Timeout, o.Again = cmd.Int64("seed"), cmd.Duration("timeout"), cmd.Bool("again")
	o.Retries, o.Deadline, o.Require = cmd.Int("retries"), cmd.Duration("deadline"), cmd.StringSlice("require")
	o.Heavy, o.WithoutModels = cmd.Bool("heavy"), cmd.Bool("without-models")
	if o.Seed == 0 {
		o.Seed = time.Now().UnixMilli() % 1_000_000
	}
	return nil
}

// mostInstances is how many of each service one process is to run.
const mostInstances = 5

// sourceOf reads the flags that say where the target is, or what is started as one.
func sourceOf(cmd *cli.Command) (from app.Source, err error) {
	from = app.Source{Local: cmd.Bool("devnet"), Instances: cmd.Int("instances"), Image: cmd.String("image"),
		InProcess: cmd.Bool("in-process"), Literal: cmd.Bool("literal"), LogDir: cmd.String("out"), Notes: os.Stderr}
	if from.World, err = worldOf(cmd); err != nil {
		return from, err
	}
	switch {
	case from.Instances != 0 && !from.Local:
		return from, app.Mistake("instances are those that --devnet starts")
	case from.Instances < 0 || from.Instances > mostInstances:
		return from, app.Mistake("instances is %d: give a number from 1 to %d", from.Instances, mostInstances)
	}
	from.World.BlobsLater = len(cmd.StringSlice("inside")) > 0
	named := cmd.String("target")+cmd.String("relay")+cmd.String("stream")+cmd.String("rpc")+cmd.String("sidecar")+
		cmd.String("builder")+cmd.String("consensus") != ""
	if !from.Local && (named || from.Image == "") {
		if from.Target, err = targetOf(cmd); err != nil {
			return from, app.Mistake("%v", err)
		}
	}
	return from, nil
}

// targetOf reads the target's file, or makes a target from the flags with URLs.
func targetOf(cmd *cli.Command) (*target.Target, error) {
	if name := cmd.String("target"); name != "" {
		return target.Load(name)
	}
	t := &target.Target{Implementation: target.Implementation{Project: "target"},
		Chain: target.Chain{WorldURL: cmd.String("world")}}
	if address := cmd.String("relay"); address != "" {
		t.Relay = &target.Relay{ProposerURL: address}
	}
	if address := cmd.String("stream"); address != "" {
		t.Stream = &target.Stream{URL: address}
	}
	if address := cmd.String("rpc"); address != "" {
		t.RPC = &target.RPC{URL: address}
	}
	switch where := cmd.String("sidecar"); {
	case where == app.OwnSidecar:
		t.Sidecar = &target.Sidecar{Own: true}
	case strings.HasPrefix(where, "http://") || strings.HasPrefix(where, "https://"):
		t.Sidecar = &target.Sidecar{URL: where}
	case where != "":
		t.Sidecar = &target.Sidecar{Command: where}
	}
	switch what := cmd.String("builder"); what {
	case "":
	case app.OwnBuilder:
		t.Builder = &target.Builder{Own: true}
	case app.RunningBuilder:
		t.Builder = &target.Builder{Running: true}
	default:
		t.Builder = &target.Builder{Command: what}
	}
	switch where := cmd.String("consensus"); where {
	case "":
	case app.OwnConsensus:
		t.Consensus = &target.Consensus{Own: true}
	default:
		t.Consensus = &target.Consensus{BeaconURL: where}
	}
	return t, t.Complete()
}

func probeCommand() *cli.Command {
	return &cli.Command{
		Name: "probe", Usage: "find out which optional features a target has",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "target", TakesFile: true, Usage: "file that says where the target is"},
			&cli.StringFlag{Name: "relay", Usage: "URL of a relay, in place of a file"},
			&cli.StringFlag{Name: "stream", Usage: "URL of a stream"},
			&cli.StringFlag{Name: "rpc", Usage: "URL of a bundle RPC"},
			&cli.StringFlag{Name: "world", Usage: "not used"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			t, err := targetOf(cmd)
			if err != nil {
				return app.WithStatus(app.Mistake("%v", err))
			}
			return app.WithStatus(app.Probe(ctx, os.Stdout, t))
		},
	}
}

func diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "say what changed between two reports",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "old", Required: true, TakesFile: true, Usage: "report.json of the earlier run"},
			&cli.StringFlag{Name: "new", Required: true, TakesFile: true, Usage: "report.json of the later run"},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return app.WithStatus(app.Diff(os.Stdout, cmd.String("old"), cmd.String("new")))
		},
	}
}

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "write a report in another form",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Required: true, TakesFile: true, Usage: "report.json"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "html, junit, md, badge, shields, json or table"},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return app.WithStatus(app.Convert(os.Stdout, cmd.String("from"), cmd.String("format")))
		},
	}
}
