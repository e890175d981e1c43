package journal

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"
)

// A backup is a folder: backup.json says what is in it, and each part is a file.
//
//	backup.json                           identity, network, and of each part its checksum
//	STATE.snapshot, FACTS.snapshot, …     streams, as the engine copies them: with numbers, times and bounds
//	GUARD.tar, ESCROW.tar                 claims and payloads, in their order
const (
	backupName   = "backup.json"
	backupFormat = 1
)

// Backup describes a backup.
type Backup struct {
	Format int `json:"format"`
	// Journal is the identity of the log of facts; Network is what the journal is bound to.
	Journal string            `json:"journal"`
	Network map[string]string `json:"network"`
	TakenAt time.Time         `json:"taken_at"`
	Parts   []BackupPart      `json:"parts"`
}

// BackupPart is a file of a backup.
type BackupPart struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Items is the number of messages, claims or payloads.
	Items uint64 `json:"items"`
	// Stream is the stream's configuration and state; nil for the guard and the escrow.
	Stream *streamCopy `json:"stream,omitempty"`
}

// TakeBackup copies a journal into a new folder. A cluster's journal may be in use; what is written
// meanwhile may be missing. An embedded journal must not be in use. The streams are copied one
// after the other, STATE first, so that a restored service reads again the facts behind its state.
func TakeBackup(ctx context.Context, cfg Config, to string) (*Backup, error) {
	j, err := attachTo(ctx, cfg)
	if err != nil {
		return nil, err
	}
	b, err := j.backup(ctx, cfg, to)
	return b, errors.Join(err, j.Close(ctx))
}

func (j *Journal) backup(ctx context.Context, cfg Config, to string) (*Backup, error) {
	if err := os.Mkdir(to, 0o700); err != nil {
		return nil, fmt.Errorf("make the backup's folder: %w", err)
	}
	b := &Backup{Format: backupFormat, Journal: j.id, TakenAt: time.Now().UTC()}
	var err error
	if b.Network, err = j.Network(ctx); err != nil {
		return nil, err
	}
	for _, name := range streamNames {
		part := BackupPart{Name: name, File: name + ".snapshot"}
		err := part.write(to, func(w io.Writer) error {
			about, err := j.copyStream(ctx, name, w)
			part.Stream = &about
			return err
		})
		if err != nil {
			return nil, err
		}
		var state stateOfCopy
		if err := json.Unmarshal(part.Stream.State, &state); err != nil {
			return nil, fmt.Errorf("read the state of %s: %w", name, err)
		}
		part.Items = state.Messages
		b.Parts = append(b.Parts, part)
	}
	for _, name := range []string{guardName, escrowName} {
		part := BackupPart{Name: name, File: name + ".tar"}
		err := part.write(to, func(w io.Writer) error {
			archive := tar.NewWriter(w)
			count, err := j.values(ctx, cfg, name, func(key string, value []byte) error {
				err := archive.WriteHeader(&tar.Header{Name: key, Size: int64(len(value)), Mode: 0o600})
				if err == nil {
					_, err = archive.Write(value)
				}
				return err
			})
			part.Items = uint64(count)
			return errors.Join(err, archive.Close())
		})
		if err != nil {
			return nil, fmt.Errorf("back up %s: %w", name, err)
		}
		b.Parts = append(b.Parts, part)
	}
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", backupName, err)
	}
	if err := writeSynced(filepath.Join(to, backupName), data); err != nil { // last: without it the backup is not whole
		return nil, fmt.Errorf("write %s: %w", backupName, err)
	}
	return b, nil
}

// write writes the part's file, syncs it, and notes its checksum.
func (p *BackupPart) write(dir string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(dir, p.File), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	sum := sha256.New()
	if err := fill(io.MultiWriter(f, sum)); err != nil {
		return errors.Join(err, f.Close())
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

// ReadBackup reads what a backup is, and checks that all of its files are whole.
func ReadBackup(dir string) (*Backup, error) {
	data, err := os.ReadFile(filepath.Join(dir, backupName))
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	var b Backup
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("read %s: %w", backupName, err)
	}
	if b.Format > backupFormat {
		return nil, fmt.Errorf("the backup is of format %d, this version of gavel reads formats up to %d: use the newer "+
			"version", b.Format, backupFormat)
	}
	for _, part := range b.Parts {
		sum := sha256.New()
		if err := part.read(dir, func(r io.Reader) error {
			_, err := io.Copy(sum, r)
			return err
		}); err != nil {
			return nil, err
		}
		if !part.is(sum) {
			return nil, fmt.Errorf("the backup is damaged: %s has another checksum than %s says", part.File, backupName)
		}
	}
	return &b, nil
}

func (p *BackupPart) is(sum hash.Hash) bool { return hex.EncodeToString(sum.Sum(nil)) == p.SHA256 }

// read opens the part's file.
func (p *BackupPart) read(dir string, use func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(dir, filepath.Base(p.File)))
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	return errors.Join(use(f), f.Close())
}

// part is the part of a name; nil if there is none.
func (b *Backup) part(name string) *BackupPart {
	for i := range b.Parts {
		if b.Parts[i].Name == name {
			return &b.Parts[i]
		}
	}
	return nil
}
