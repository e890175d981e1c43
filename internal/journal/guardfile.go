package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// claimsName is the guard's file in the journal's folder.
const claimsName = "guard.claims"

// openClaims opens the guard's file. If it does not exist, openClaims makes it with its full length
// and with the claims that an earlier version kept elsewhere.
func openClaims(dir string, log *slog.Logger, earlier func(add func(key string, value []byte) error) error) (
	*claims, error) {
	path := filepath.Join(dir, claimsName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeClaims(path, log, earlier); err != nil {
			return nil, fmt.Errorf("make the guard's file: %w", sizeText(err))
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("find the guard's file: %w", err)
	}
	if info.Size() != claimsLength {
		return nil, fmt.Errorf("the guard's file %s has %d bytes, not %d: it is of a newer version of gavel, or was cut. "+
			"Start that version, or "+
			"remove the file once the slot of the last delivery is over", path, info.Size(), claimsLength)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the guard's file: %w", err)
	}
	c, err := readClaims(f, claimPlaces, log)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

// makeClaims makes the file under another name first, so that it exists with its full length or not
// at all.
func makeClaims(path string, log *slog.Logger,
	earlier func(add func(key string, value []byte) error) error) (err error) {
	temp := path + tempSuffix
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	if _, err := f.Write(make([]byte, claimsLength)); err != nil { // written zeros take room on the disk; a hole would not
		return errors.Join(err, f.Close())
	}
	c, err := readClaims(f, claimPlaces, log)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	add := func(key string, value []byte) error { // the Sync below covers all of them
		if err := c.put(key, value); err != nil {
			return err
		}
		c.remember(key, value)
		return nil
	}
	if err := earlier(add); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder survive a power cut.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// earlierClaims is how many claims of an earlier version are taken over: those of some hours of
// slots.
const earlierClaims = 1024

// makeGuard makes the guard: in a stream of the cluster, or in a file beside the embedded engine.
func (j *Journal) makeGuard(ctx context.Context, cfg Config) (err error) {
	switch {
	case cfg.URL != "":
		stream, err := j.makeStream(ctx, cfg, jetstream.StreamConfig{
			Name: guardName, Subjects: []string{guardPrefix + "*"}, Storage: jetstream.FileStorage, DenyDelete: true,
			DenyPurge: true,
		})
		if err != nil {
			return err
		}
		j.guard = &clusterGuard{js: j.js, stream: stream}
	case cfg.Dir == "":
		j.guard = newClaims(claimPlaces)
	default:
		guard, err := openClaims(cfg.Dir, j.log, func(add func(string, []byte) error) error {
			return j.claimsOfEngine(ctx, add)
		})
		if err != nil {
			return err
		}
		guard.synced = &j.synced
		j.guard = guard
	}
	return nil
}

// claimsOfEngine calls add with the newest claims that an earlier version kept in the embedded
// engine.
func (j *Journal) claimsOfEngine(ctx context.Context, add func(key string, value []byte) error) error {
	stream, err := j.js.Stream(ctx, guardName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find earlier claims: %w", err)
	}
	from := uint64(1)
	if last := stream.CachedInfo().State.LastSeq; last > earlierClaims {
		from = last - earlierClaims + 1
	}
	return j.past(ctx, guardName, guardPrefix, fromPlace(from), []string{">"},
		func(_ uint64, _ time.Time, key string, value []byte) error { return add(key, value) })
}
