package vectors

import (
	"context"
	"fmt"
	"slices"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Version is the version of the vectors. The major number changes when a consumer has to, the minor
// number when there are more cases.
const Version = "1.0"

// Config says which vectors to make.
type Config struct {
	// Seed determines all keys, and with them all signatures and hashes.
	Seed uint64
	// Forks are those of the suites that have a folder for each fork. Empty means all.
	Forks []eth.Fork
}

// Forks returns all forks for which there are vectors, oldest first.
func Forks() []eth.Fork {
	return slices.DeleteFunc(eth.Forks(), func(f eth.Fork) bool { return !probe.Has(f) })
}

// Write writes all vectors into a folder, which must be empty or not exist, and returns what it has
// written.
func Write(ctx context.Context, dir string, cfg Config) (*Manifest, error) {
	if len(cfg.Forks) == 0 {
		cfg.Forks = Forks()
	}
	out, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	for _, fork := range cfg.Forks {
		if err := writeFork(ctx, out, cfg.Seed, fork); err != nil {
			return nil, fmt.Errorf("make the vectors of %s: %w", fork, err)
		}
	}
	for _, write := range []func(*folder, uint64) error{
		writeRegistrations, writeBundles, writeSignatures, writeHints, writeTranscripts,
	} {
		if err := write(out, cfg.Seed); err != nil {
			return nil, err
		}
	}
	if err := out.schemas(); err != nil {
		return nil, err
	}
	return out.manifest(cfg)
}

// writeFork writes the suites of the relay that differ between forks.
func writeFork(ctx context.Context, out *folder, seed uint64, fork eth.Fork) (err error) {
	r, err := openRound(ctx, seed, fork)
	if err != nil {
		return err
	}
	defer func() {
		if closing := r.chain.Close(); err == nil {
			err = closing
		}
	}()
	for _, write := range []func(*folder, *round) error{writeGenesis, writeSubmissions, writeHeaderSubmissions,
		writeReveals} {
		if err := write(out, r); err != nil {
			return err
		}
	}
	return nil
}
