package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Move moves an embedded journal into a cluster that has none: facts with their numbers, state,
// claims and payloads. Databases that were made of it go on with it. The service must be stopped.
// Afterwards the folder is refused like a copy, because the cluster has the guard now.
func Move(ctx context.Context, from, to Config) (*Backup, error) {
	temp, err := os.MkdirTemp(from.Dir, "move-")
	if err != nil {
		return nil, fmt.Errorf("move the journal: %w", err)
	}
	b, err := move(ctx, from, to, temp)
	return b, errors.Join(err, os.RemoveAll(temp))
}

// move copies a journal by a backup in a folder. The source stays locked until it is marked.
func move(ctx context.Context, from, to Config, temp string) (*Backup, error) {
	source, err := attachTo(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := source.moveTo(ctx, from, to, filepath.Join(temp, "backup"))
	return b, errors.Join(err, source.Close(ctx))
}

func (j *Journal) moveTo(ctx context.Context, from, to Config, temp string) (*Backup, error) {
	if _, err := j.backup(ctx, from, temp); err != nil {
		return nil, err
	}
	b, err := RestoreBackup(ctx, to, temp)
	if err != nil {
		return nil, err
	}
	return b, markMoved(from.Dir, to.URL)
}

// markMoved makes a folder refused like a copy: it is recorded as being where the journal is now.
func markMoved(dir, cluster string) error {
	shown := "a cluster"
	if parsed, err := url.Parse(cluster); err == nil {
		shown = parsed.Redacted()
	}
	data, err := json.Marshal(location{Format: locationFormat, Path: "the cluster " + shown + " (it was moved there)"})
	if err != nil {
		return fmt.Errorf("encode where the journal is: %w", err)
	}
	if err := writeSynced(filepath.Join(dir, locationName), data); err != nil {
		return fmt.Errorf("write down where the journal is: %w", err)
	}
	return nil
}
