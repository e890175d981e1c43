package chaintest

import (
	"slices"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
)

// TrialFork adds the row of a made-up fork to the table while a test runs, and returns the fork. It
// has a name and blobs, but no type in any library, and no entry in the columns of other packages.
// The test must not run in parallel with others, since the whole process shares the table.
func TrialFork(tb testing.TB) eth.Fork {
	tb.Helper()
	before := eth.Table
	tb.Cleanup(func() { eth.Table = before })
	row := eth.Row{Name: "trial", Spec: "specs/trial", Blobs: eth.Blobs{PerBlock: 3, Proofs: 1}}
	eth.Table = slices.Concat(before, []eth.Row{row})
	return eth.Fork(len(eth.Table))
}
