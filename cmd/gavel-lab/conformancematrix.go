package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
)

func matrixCommand() *cli.Command {
	return &cli.Command{
		Name: "matrix", Usage: "set reports side by side as one page", ArgsUsage: "REPORT…",
		Flags: []cli.Flag{&cli.StringFlag{Name: "out", TakesFile: true, Value: "matrix.html", Usage: "file of the page"}},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return app.WithStatus(app.Matrix(cmd.Args().Slice(), cmd.String("out")))
		},
	}
}

func publishCommand() *cli.Command {
	return &cli.Command{
		Name: "publish", Usage: "keep the verdicts of runs in a folder, as pages without times", ArgsUsage: "NAME=REPORT…",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", TakesFile: true, Required: true, Usage: "folder of the pages"},
			&cli.BoolFlag{Name: "check", Usage: "write nothing; end with 1 if a verdict that is published is another now"},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			p := app.Publication{Dir: cmd.String("dir"), Reports: cmd.Args().Slice(), Out: os.Stdout}
			return app.WithStatus(p.Publish(cmd.Bool("check")))
		},
	}
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
	return app.Forks{
		Program: program, Args: os.Args[1:], Forks: forks, AtOnce: atOnce(cmd), Out: cmd.String("out"),
		Notes: os.Stderr, Said: os.Stdout,
	}.Judge(ctx)
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
