package journal

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/nats-io/nats.go/jetstream"
)

// unfinished is the format of a stream of state while a backup is restored. No version reads it, so
// that no service starts on a part of a journal.
const unfinished = "being restored"

// ErrHasJournal says that a backup is to be restored where a journal is already.
var ErrHasJournal = errors.New("there is a journal already")

// RestoreBackup makes a journal of a backup, in a new folder or in a cluster that has none. The
// journal is the same: identity, numbers and times of its facts, state, claims and payloads.
// Whatever the backup was made of must not run any more, since both would let a block of the same
// slot pass.
func RestoreBackup(ctx context.Context, cfg Config, from string) (*Backup, error) {
	b, err := ReadBackup(from)
	if err != nil {
		return nil, err
	}
	j, err := attach(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := j.restore(ctx, cfg, b, from); err != nil {
		return nil, errors.Join(err, j.Close(ctx))
	}
	if err := j.Close(ctx); err != nil {
		return nil, err
	}
	if cfg.URL != "" {
		return b, nil
	}
	return b, errors.Join(syncAll(cfg.Dir), markLocation(cfg.Dir))
}

func (j *Journal) restore(ctx context.Context, cfg Config, b *Backup, from string) error {
	for _, name := range append([]string{guardName}, streamNames...) {
		_, err := j.js.Stream(ctx, name)
		if err == nil {
			return fmt.Errorf("restore: %w: it has a stream %s", ErrHasJournal, name)
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("restore: find stream %s: %w", name, err)
		}
	}
	replicas := cfg.Replicas
	if replicas == 0 {
		replicas = j.defaultReplicas()
	}
	var metadata map[string]any
	for _, name := range streamNames {
		part := b.part(name)
		if part == nil || part.Stream == nil {
			return fmt.Errorf("restore: the backup has no stream %s", name)
		}
		err := part.read(from, func(r io.Reader) error {
			return j.restoreStream(ctx, name, *part.Stream, r, func(config map[string]any) {
				config["num_replicas"], config["storage"] = replicas, "file"
				for stream, bytes := range map[string]int64{factsName: cfg.FactsBytes, evidenceName: cfg.EvidenceBytes} {
					if name == stream && bytes != 0 {
						config["max_bytes"] = max(bytes, forEver)
					}
				}
				if name != stateName {
					return
				}
				metadata, _ = config["metadata"].(map[string]any)
				marked := maps.Clone(metadata)
				if marked == nil {
					marked = map[string]any{}
				}
				marked[formatKey] = unfinished
				config["metadata"] = marked
			})
		})
		if exceedsQuota(err) {
			return fmt.Errorf("the cluster has not the room that %s may take: lower --facts-megabytes or "+
				"--evidence-megabytes, or raise the servers' max_file_store: %w", name, err)
		}
		if err != nil {
			return err
		}
	}
	if err := j.restoreValues(ctx, cfg, b, from); err != nil {
		return err
	}
	return j.finishRestore(ctx, metadata)
}

// restoreValues restores the guard and the escrow.
func (j *Journal) restoreValues(ctx context.Context, cfg Config, b *Backup, from string) error {
	if err := j.makeGuard(ctx, cfg); err != nil {
		return err
	}
	if err := j.makeEscrow(ctx, cfg); err != nil {
		return err
	}
	for name, put := range map[string]func(key string, value []byte) error{
		guardName: func(key string, value []byte) error {
			standing, won, err := j.Claim(ctx, key, value)
			if err == nil && !won {
				err = fmt.Errorf("claim %s is %x, and in the backup %x", key, standing, value)
			}
			return err
		},
		escrowName: func(key string, value []byte) error { return j.Put(ctx, key, value) },
	} {
		part := b.part(name)
		if part == nil {
			return fmt.Errorf("restore: the backup has no %s", name)
		}
		if err := part.read(from, func(r io.Reader) error { return eachValue(r, put) }); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	return nil
}

// eachValue calls put with each value of an archive.
func eachValue(r io.Reader, put func(key string, value []byte) error) error {
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		value, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := put(header.Name, value); err != nil {
			return err
		}
	}
}

// finishRestore makes the journal one that services open.
func (j *Journal) finishRestore(ctx context.Context, metadata map[string]any) error {
	stream, err := j.js.Stream(ctx, stateName)
	if err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	config := stream.CachedInfo().Config
	config.Metadata[formatKey] = formatVersion
	if format, ok := metadata[formatKey].(string); ok {
		config.Metadata[formatKey] = format
	}
	if _, err := j.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	return nil
}
