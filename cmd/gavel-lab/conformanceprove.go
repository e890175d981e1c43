package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"
)

func proveCommand() *cli.Command {
	return &cli.Command{
		Name: "prove", Usage: "run the suite against wrong targets, and show that it notices each",
		Action: func(context.Context, *cli.Command) error { return judged(errors.New("not built yet")) },
	}
}
