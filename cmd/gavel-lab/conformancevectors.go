package main

import (
	"context"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
)

func vectorsCommand() *cli.Command {
	return &cli.Command{
		Name: "vectors", Usage: "write test vectors for implementations in any language; see docs/vectors.md",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Required: true, TakesFile: true,
				Usage: "folder to write to, which must not exist or be empty"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "determines all keys; the same seed makes the same bytes"},
			&cli.StringFlag{Name: "forks", Value: "all", Usage: "forks with a folder of their own, such as deneb,fulu, or all"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return app.WithStatus(app.WriteVectors(ctx, os.Stdout, cmd.String("out"), cmd.Uint64("seed"), cmd.String("forks")))
		},
	}
}
