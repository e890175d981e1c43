package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/vectors"
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
			return judged(writeVectors(ctx, os.Stdout, cmd))
		},
	}
}

// writeVectors writes vectors and says how many.
func writeVectors(ctx context.Context, out io.Writer, cmd *cli.Command) error {
	forks, err := app.ParseForks(cmd.String("forks"))
	if err != nil {
		return err
	}
	manifest, err := vectors.Write(ctx, cmd.String("out"), vectors.Config{Seed: cmd.Uint64("seed"), Forks: forks})
	if err != nil {
		return err
	}
	for _, suite := range slices.Sorted(maps.Keys(manifest.Cases)) {
		fmt.Fprintf(out, "%-26s %4d cases\n", suite, manifest.Cases[suite])
	}
	fmt.Fprintf(out, "vectors %s, seed %d: %d files in %s\n", manifest.Version, manifest.Seed, len(manifest.Files)+1,
		cmd.String("out"))
	return nil
}
