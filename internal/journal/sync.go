package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// blockSuffix is that of the files in which the engine keeps messages. It appends to the newest; a
// file that it makes smaller gets its old name.
const blockSuffix = ".blk"

// syncs has what the embedded engine wrote outlive a power cut. The engine syncs all streams once a
// second, or each message of all; state must not wait for the one, and facts could not bear the
// other. What it acks it has written to its files before.
type syncs struct {
	dir    string // the journal's folder
	synced *synced

	turn sync.Mutex // held while somebody syncs
	mu   sync.Mutex // guards next
	next *syncing   // what everybody who comes now waits for; nil if nobody has come
}

// syncing is one sync, for all who came before it began.
type syncing struct {
	done chan struct{}
	err  error
}

// streamFolder is where the engine keeps a stream.
func streamFolder(dir, stream string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream)
}

// state returns when all state that was acked before the call outlives a power cut. Those who wait
// at a time share a sync.
func (s *syncs) state() error {
	s.mu.Lock()
	mine := s.next
	if mine != nil {
		s.mu.Unlock()
		<-mine.done
		return mine.err
	}
	mine = &syncing{done: make(chan struct{})}
	s.next = mine
	s.mu.Unlock()

	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	s.next = nil // who comes from now on needs another one
	s.mu.Unlock()
	mine.err = syncBlocks(filepath.Join(streamFolder(s.dir, stateName), "msgs"))
	if mine.err == nil {
		s.synced.note()
	}
	close(mine.done)
	return mine.err
}

// syncBlocks syncs the messages of a stream, and the names of their files.
func syncBlocks(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	blocks := 0
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != blockSuffix {
			continue
		}
		blocks++
		if err := syncFile(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
	}
	if blocks == 0 {
		return fmt.Errorf("sync: %s has no messages: the engine keeps them elsewhere", dir)
	}
	return syncFolder(dir)
}

// syncFile syncs a file, or nothing if it is gone: then the engine has put what was in it
// elsewhere, or has forgotten it.
func syncFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncAll syncs all that the engine has in a journal's folder.
func syncAll(dir string) error {
	err := filepath.WalkDir(filepath.Join(dir, server.JetStreamStoreDir),
		func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return ignoreGone(err)
			case entry.IsDir():
				return ignoreGone(syncFolder(path))
			case entry.Type().IsRegular():
				return syncFile(path)
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("sync the journal's folder: %w", err)
	}
	return syncFolder(dir)
}

// synced remembers when the disk of an embedded journal last answered that it has what it was
// given.
type synced struct{ last atomic.Pointer[time.Time] }

func (s *synced) note() {
	now := time.Now()
	s.last.Store(&now)
}

// SyncedAgo is how long ago the embedded journal last synced a claim or state, or was opened (wall
// time); -1 s for one in memory or in a cluster. Facts do not count: the engine syncs them by
// itself.
func (j *Journal) SyncedAgo() time.Duration {
	last := j.synced.last.Load()
	if last == nil {
		return -time.Second
	}
	return time.Since(*last)
}
