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

// blockSuffix is the suffix of the files in which the engine keeps messages. The engine appends to
// the newest one. When it compacts a file, the new file gets the old name.
const blockSuffix = ".blk"

// syncs makes state survive a power cut. The embedded engine can sync all streams once a second, or
// after each message of any stream. The first is too late for state, and the second too slow for
// facts. So syncs itself syncs the files of state. The engine has written what it acks to these
// files.
type syncs struct {
	dir    string // the journal's folder
	synced *synced

	turn sync.Mutex // held during a sync
	mu   sync.Mutex // guards next
	next *syncing   // the sync for which callers wait that come now; nil if none has come
}

// syncing is one sync, for all callers that came before it began.
type syncing struct {
	done chan struct{}
	err  error
}

// streamFolder is where the engine keeps a stream.
func streamFolder(dir, stream string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream)
}

// state returns when all state that was acked before the call survives a power cut. Callers that
// wait at the same time share a sync.
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
	s.next = nil // callers that come from now on need another sync
	s.mu.Unlock()
	mine.err = syncBlocks(filepath.Join(streamFolder(s.dir, stateName), "msgs"))
	if mine.err == nil {
		s.synced.note()
	}
	close(mine.done)
	return mine.err
}

// syncBlocks syncs the files of a stream's messages, and their names.
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

// syncFile syncs a file. It does nothing if the file is gone: then the engine has moved its
// contents, or has dropped them.
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

// syncAll syncs all files of the engine in a journal's folder.
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

// synced holds the time of the last sync of an embedded journal that succeeded.
type synced struct{ last atomic.Pointer[time.Time] }

func (s *synced) note() {
	now := time.Now()
	s.last.Store(&now)
}

// SyncedAgo is how long ago the embedded journal last synced a claim or state, or was opened (wall
// time); -1 s for a journal in memory or in a cluster. Facts do not count, because the engine syncs
// them by itself.
func (j *Journal) SyncedAgo() time.Duration {
	last := j.synced.last.Load()
	if last == nil {
		return -time.Second
	}
	return time.Since(*last)
}
