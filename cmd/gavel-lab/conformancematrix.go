package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

func matrixCommand() *cli.Command {
	return &cli.Command{
		Name: "matrix", Usage: "set reports side by side as one page", ArgsUsage: "REPORT…",
		Flags: []cli.Flag{&cli.StringFlag{Name: "out", TakesFile: true, Value: "matrix.html", Usage: "file of the page"}},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return judged(matrix(cmd.Args().Slice(), cmd.String("out")))
		},
	}
}

// matrix writes the page of the reports with these names.
func matrix(names []string, out string) error {
	if len(names) == 0 {
		return app.Mistake("no report: give the report.json of each run")
	}
	var reports []*report.Report
	for _, name := range names {
		r, err := report.ReadFile(name)
		if err != nil {
			return app.Mistake("%s: %v", name, err)
		}
		reports = append(reports, r)
	}
	return app.WriteMatrix(out, reports)
}

// runForks runs the suite in several forks by this program's own arguments.
func runForks(ctx context.Context, cmd *cli.Command) error {
	forks, err := app.ParseForks(cmd.String("forks"))
	if err != nil {
		return err
	}
	switch {
	case cmd.String("out") == "":
		return app.Mistake("forks: give --out, the folder of their reports")
	case cmd.String("write-expected") != "":
		return app.Mistake("forks: expectations are written from one run: give --fork")
	case !cmd.Bool("devnet") && cmd.String("image") == "":
		return app.Mistake("forks: only services that are started with the world can be run in several: give --devnet or " +
			"--image")
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	exit, err := app.Forks{
		Program: program, Args: withoutFlags(os.Args[1:], "forks", "fork", "out"), Forks: forks, AtOnce: atOnce(cmd),
		Out:   cmd.String("out"),
		Notes: os.Stderr, Said: os.Stdout,
	}.Run(ctx)
	if err == nil && exit != verdict.Conformant {
		err = status{exit, "not all forks are conformant: see matrix.html"}
	}
	return err
}

// forksAtOnce is how many forks run at a time on their own clocks. With five, journals, which write
// by the wall, are at times late on two busy cores.
const forksAtOnce = 2

// atOnce returns how many forks are run at a time: containers go by the wall clock, one after the
// other.
func atOnce(cmd *cli.Command) int {
	if cmd.Bool("devnet") {
		return forksAtOnce
	}
	return 1
}

// withoutFlags returns arguments without some flags and their values.
func withoutFlags(args []string, names ...string) (kept []string) {
	for i := 0; i < len(args); i++ {
		dropped := false
		for _, name := range names {
			bare := strings.TrimLeft(args[i], "-")
			if bare == args[i] {
				break
			}
			if bare == name {
				i++ // its value
				dropped = true
				break
			}
			if strings.HasPrefix(bare, name+"=") {
				dropped = true
				break
			}
		}
		if !dropped {
			kept = append(kept, args[i])
		}
	}
	return kept
}
