package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/query"
)

func replayQueryCommand() *cli.Command {
	return &cli.Command{
		Name:      "query",
		Usage:     "answer a question in SQL over a data set (in programs that make lab-sql has built)",
		ArgsUsage: "'SELECT …'",
		Flags:     queryFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 1 {
				return run.Usage(errors.New("no question: give one statement in quotes, such as 'SELECT count(*) FROM bids'"))
			}
			return withData(ctx, cmd, func(db *query.DB) error {
				answer, err := db.Ask(ctx, cmd.Args().First())
				if err != nil {
					return err
				}
				return answer.Write(cmd.Root().Writer, cmd.String("format"))
			})
		},
	}
}

func replayShellCommand() *cli.Command {
	return &cli.Command{
		Name:  "shell",
		Usage: "read statements of SQL from stdin and answer them over a data set (in programs that make lab-sql has built)",
		Flags: queryFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return withData(ctx, cmd, func(db *query.DB) error {
				program, people := cmd.Root(), term.IsTerminal(int(os.Stdin.Fd()))
				return db.Shell(ctx, program.Reader, program.Writer, cmd.String("format"), people)
			})
		},
	}
}

func queryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "dataset", Value: "dataset", TakesFile: true, Usage: "folder of the data set"},
		&cli.StringFlag{Name: "results", TakesFile: true,
			Usage: "folder of the results of replay run, which become the table results"},
		&cli.StringFlag{Name: "format", Value: query.Formats[0],
			Usage: "how answers are written: " + strings.Join(query.Formats, ", ")},
	}
}

// withData opens the data set for questions.
func withData(ctx context.Context, cmd *cli.Command, ask func(*query.DB) error) (err error) {
	if !slices.Contains(query.Formats, cmd.String("format")) {
		return run.Usage(fmt.Errorf("format is %q: give one of %s", cmd.String("format"),
			strings.Join(query.Formats, ", ")))
	}
	db, err := query.Open(ctx, query.Source{Dataset: cmd.String("dataset"), Results: cmd.String("results")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return ask(db)
}
