package main

import (
	"context"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
)

func overlayCommand() *cli.Command {
	return &cli.Command{
		Name:  "overlay",
		Usage: "write copies of our services' sources with mutants inside, and print the file for go build -overlay",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Value: ".", TakesFile: true, Usage: "folder of gavel's sources"},
			&cli.StringFlag{Name: "into", Value: "bin/overlay", TakesFile: true, Usage: "folder for the copies"},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return app.WriteOverlay(os.Stdout, cmd.String("source"), cmd.String("into"))
		},
	}
}
