package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
	scenarioapp "github.com/gavel-relay/gavel/scenarios/app"
	"github.com/gavel-relay/gavel/scenarios/plan"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

// runScenario runs a plan and says what came of it.
type runScenario func(ctx context.Context, p *plan.Plan, o scenarioapp.Options) (scenarioapp.Result, error)

func scenarioCommand(start runScenario) *cli.Command {
	return &cli.Command{
		Name:  "scenario",
		Usage: "run stories of auctions, faults and agents, and judge how they end",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list the library, each story with the first sentence of why it is told",
				Action: func(_ context.Context, cmd *cli.Command) error { return listScenarios(cmd.Root().Writer) },
			},
			{
				Name: "explain", Usage: "say in words what a scenario does", ArgsUsage: "NAME|FILE",
				Action: func(_ context.Context, cmd *cli.Command) error {
					return eachPlan(cmd, func(p *plan.Plan) error {
						_, err := io.WriteString(cmd.Root().Writer, p.Explain())
						return err
					})
				},
			},
			{
				Name: "language", Usage: "print everything that a scenario may say, in Markdown",
				Action: func(_ context.Context, cmd *cli.Command) error {
					_, err := io.WriteString(cmd.Root().Writer, plan.Catalogue())
					return err
				},
			},
			{
				Name:      "replay",
				Usage:     "run the auctions of a run folder again from its facts, and print who led after each as NDJSON",
				ArgsUsage: "FOLDER",
				Action: func(_ context.Context, cmd *cli.Command) error {
					return replayRun(cmd.Root().Writer, cmd.Args().First())
				},
			},
			{
				Name: serviceName, Usage: "be a service of a scenario: the laboratory starts it", Hidden: true,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "disk", Usage: "start one whose data, in this folder, is on a disk that can break"},
					&cli.BoolFlag{Name: "probe-disk", Usage: "say whether this machine can have such a disk"},
				},
				Action: beService,
			},
			{
				Name: "run", Usage: "run scenarios of the library or of files, and judge how they end", ArgsUsage: "NAME|FILE …",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "all", Usage: "run the whole library"},
					&cli.BoolFlag{Name: "faults",
						Usage: "run the stories of the library in which a process, its disk, its journal or its clock breaks"},
					&cli.BoolFlag{Name: "watch", Usage: "draw each slot live in the terminal"},
					&cli.BoolFlag{Name: "variants", Usage: "run all variants, and not only the first"},
					&cli.BoolFlag{Name: "prove", Usage: "run once more without the key fault: then an expectation must break"},
					&cli.Uint64Flag{Name: "seed", DefaultText: "the plan's", Usage: "the same seed gives the same keys and choices"},
					&cli.BoolFlag{Name: "again",
						Usage: "run what does not end as it must once more at a third of its speed, where a busy machine counts less"},
					&cli.IntFlag{Name: "at-once", Value: 1, Usage: "scenarios that run at a time"},
					&cli.StringFlag{Name: "dir", Value: "runs", TakesFile: true, Usage: "directory for run folders"},
					&cli.BoolFlag{Name: "verbose",
						Usage: "print the log of the laboratory's parts to stderr, and have services log more: each into a file of " +
							"the run folder"},
				},
				Action: func(ctx context.Context, cmd *cli.Command) error { return runScenarios(ctx, cmd, start) },
			},
		},
	}
}

// serviceName is the command by which this program becomes a service of a scenario.
const serviceName = "service"

// ourselves is how this program starts one.
func ourselves() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{path, "scenario", serviceName}, nil
}

// beService is what the laboratory asks for: a service, or what one stands on.
func beService(ctx context.Context, cmd *cli.Command) error {
	switch dir := cmd.String("disk"); {
	case cmd.Bool("probe-disk"):
		return scenarioapp.ProbeMachine()
	case dir != "":
		program, err := ourselves()
		if err != nil {
			return err
		}
		return scenarioapp.Machine(dir, program, cmd.Root().Writer)
	default:
		return scenarioapp.Serve(ctx, os.Stdin, cmd.Root().Writer)
	}
}

func listScenarios(out io.Writer) error {
	for _, name := range scenarios.Names() {
		p, err := scenarios.Open(name)
		if err != nil {
			return err
		}
		sentence, _, _ := strings.Cut(strings.Join(strings.Fields(p.Why), " "), ". ")
		if _, err := fmt.Fprintf(out, "%-28s %s.\n", name, strings.TrimSuffix(sentence, ".")); err != nil {
			return err
		}
	}
	return nil
}

// replayRun prints every change of a leading bid in a recorded run.
func replayRun(out io.Writer, folder string) error {
	file, err := os.Open(filepath.Join(folder, "facts.ndjson"))
	if err != nil {
		return run.Usage(fmt.Errorf("read the run: %w: give the folder of a run", err))
	}
	defer file.Close()
	facts, err := plan.ReadRecords(file)
	if err != nil {
		return err
	}
	tops, err := replay.Replay(facts)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	for _, top := range tops {
		if err := encoder.Encode(top); err != nil {
			return err
		}
	}
	return nil
}

// eachPlan opens what the arguments name: a file if it looks like one, else a scenario of the
// library.
func eachPlan(cmd *cli.Command, do func(*plan.Plan) error) error {
	names := cmd.Args().Slice()
	switch {
	case cmd.Bool("all"):
		names = scenarios.Names()
	case cmd.Bool("faults"):
		var err error
		if names, err = faultStories(); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return run.Usage(errors.New("name a scenario or a file: gavel-lab scenario list shows the library"))
	}
	for _, name := range names {
		p, err := openPlan(name)
		if err != nil {
			return run.Usage(err)
		}
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// faultStories are the stories of the library in which something of a service breaks, and not only
// a connection or an outsider.
func faultStories() ([]string, error) {
	var names []string
	for _, name := range scenarios.Names() {
		p, err := scenarios.Open(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.Faults, plan.Fault.BreaksProcess) {
			names = append(names, name)
		}
	}
	return names, nil
}

func openPlan(name string) (*plan.Plan, error) {
	if !strings.ContainsAny(name, "./") {
		return scenarios.Open(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return plan.Parse(name, text)
}

func runScenarios(ctx context.Context, cmd *cli.Command, start runScenario) error {
	log := slog.New(slog.DiscardHandler)
	if cmd.Bool("verbose") {
		var err error
		if log, err = run.NewLogger(os.Stderr, run.LogOptions{Level: "debug"}); err != nil {
			return err
		}
	}
	slog.SetDefault(log)
	atOnce := cmd.Int("at-once")
	if atOnce < 1 || atOnce > 16 || atOnce > 1 && cmd.Bool("watch") {
		return run.Usage(fmt.Errorf("at-once is %d: give a number from 1 to 16; only 1 can be watched", atOnce))
	}
	var tally tally
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	plans, err := chosenPlans(cmd)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return tally.run(ctx, cmd, p, start, log) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return tally.verdict(cmd.Root().Writer)
}

// chosenPlans are the plans to run. Of several at a time the longest begin first, so that none of
// them runs alone at the end.
func chosenPlans(cmd *cli.Command) ([]*plan.Plan, error) {
	var plans []*plan.Plan
	err := eachPlan(cmd, func(p *plan.Plan) error {
		if cmd.IsSet("seed") {
			var err error
			if p, err = p.Seeded(cmd.Uint64("seed")); err != nil {
				return err
			}
		}
		plans = append(plans, p)
		return nil
	})
	if cmd.Int("at-once") > 1 {
		slices.SortStableFunc(plans, func(a, b *plan.Plan) int { return cmp.Compare(length(b), length(a)) })
	}
	return plans, err
}

// length is about how long a plan runs on the wall, in seconds.
func length(p *plan.Plan) float64 {
	return float64(p.Slots) * p.Slot.Seconds() / p.Speed * float64(max(1, len(p.Variants())))
}

// tally counts how scenarios end. It is safe for concurrent use; the zero value has seen none.
type tally struct {
	mu  sync.Mutex // guards what follows, and the output
	ran int
	bad []string
	// skipped are those that this machine cannot run, and why is the reason of the last.
	skipped []string
	why     string
}

// run runs one scenario. Of several at a time each is shown when it has ended.
func (t *tally) run(ctx context.Context, cmd *cli.Command, p *plan.Plan, start runScenario, log *slog.Logger) error {
	var kept bytes.Buffer
	out := cmd.Root().Writer
	if cmd.Int("at-once") > 1 {
		out = &kept
	}
	program, err := ourselves()
	if err != nil {
		return err
	}
	show := newProgress(out, cmd.Bool("watch"))
	options := scenarioapp.Options{
		Dir: cmd.String("dir"), Variants: cmd.Bool("variants"), Prove: cmd.Bool("prove"), Tell: show.fact,
		Began: show.began, Log: log,
		Program: program,
	}
	result, err := show.run(ctx, p, start, options)
	if err == nil && !result.OK() && result.Skipped == "" && cmd.Bool("again") {
		if p, err = p.Slower(slower); err == nil {
			show.print("again, at a third of the speed")
			result, err = show.run(ctx, p, start, options)
		}
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case result.Skipped != "":
		t.skipped, t.why = append(t.skipped, p.Name), result.Skipped
	case result.OK():
		t.ran++
	default:
		t.ran++
		t.bad = append(t.bad, p.Name)
	}
	if kept.Len() > 0 {
		_, err = kept.WriteTo(cmd.Root().Writer)
	}
	return err
}

// slower is how much slower a scenario is run again.
const slower = 3

// run runs a scenario and shows how it goes and ends.
func (s *progress) run(ctx context.Context, p *plan.Plan, start runScenario,
	o scenarioapp.Options) (scenarioapp.Result, error) {
	result, err := start(ctx, p, o)
	s.ended()
	if err == nil {
		s.verdicts(result)
	}
	return result, err
}

// verdict says how all ended. That nothing could run at all is a failure: it shows nothing.
func (t *tally) verdict(out io.Writer) error {
	skipped := ""
	if len(t.skipped) > 0 {
		skipped = fmt.Sprintf(", %d more SKIPPED", len(t.skipped))
		if _, err := fmt.Fprintf(out, "SKIPPED, since this machine cannot run them: %s: %s\n", strings.Join(t.skipped, ", "),
			t.why); err != nil {
			return err
		}
	}
	if t.ran == 0 && len(t.skipped) > 0 {
		return errors.New("this machine can run none of the scenarios")
	}
	if len(t.bad) > 0 {
		return fmt.Errorf("%d of %d scenarios did not end as they must: %s", len(t.bad), t.ran, strings.Join(t.bad, ", "))
	}
	_, err := fmt.Fprintf(out, "%d of %d scenarios ended as they must%s\n", t.ran, t.ran, skipped)
	return err
}
