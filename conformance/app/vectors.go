package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gavel-relay/gavel/conformance/vectors"
)

// WriteVectors writes test vectors into a folder, and says how many. forks is as in ParseForks.
func WriteVectors(ctx context.Context, said io.Writer, dir string, seed uint64, forks string) error {
	list, err := ParseForks(forks)
	if err != nil {
		return err
	}
	manifest, err := vectors.Write(ctx, dir, vectors.Config{Seed: seed, Forks: list})
	if err != nil {
		return err
	}
	for _, suite := range slices.Sorted(maps.Keys(manifest.Cases)) {
		fmt.Fprintf(said, "%-26s %4d cases\n", suite, manifest.Cases[suite])
	}
	fmt.Fprintf(said, "vectors %s, seed %d: %d files in %s\n", manifest.Version, manifest.Seed, len(manifest.Files)+1, dir)
	return nil
}
