package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// syncs makes state, and facts that a caller asks for, survive a power cut. The embedded engine can
// sync all streams once a second, or after each message of any stream. The first is too late for
// them, and the second too slow for the other facts. So syncs itself syncs the files of a stream.
// The engine has written what it acks to these files.
type syncs struct {
	dir    string // the journal's folder
	synced *synced

	stateTurns, factTurns turns
}

// turns are the syncs of one stream.
type turns struct {
	turn  sync.Mutex             // held during a sync; guards clean
	clean map[string]fs.FileInfo // files by name as they were before their last sync; nil: sync all
	mu    sync.Mutex             // guards next
	next  *syncing               // the sync for which callers wait that come now; nil if none has come
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
func (s *syncs) state() error { return s.share(&s.stateTurns, stateName) }

// facts is the same for facts. Of these there are many files, of which a sync leaves out those that
// have not changed since the last one.
func (s *syncs) facts() error { return s.share(&s.factTurns, factsName) }

func (s *syncs) share(t *turns, stream string) error {
	t.mu.Lock()
	mine := t.next
	if mine != nil {
		t.mu.Unlock()
		<-mine.done
		return mine.err
	}
	mine = &syncing{done: make(chan struct{})}
	t.next = mine
	t.mu.Unlock()

	t.turn.Lock()
	defer t.turn.Unlock()
	t.mu.Lock()
	t.next = nil // callers that come from now on need another sync
	t.mu.Unlock()
	if t == &s.factTurns && t.clean == nil {
		t.clean = map[string]fs.FileInfo{}
	}
	mine.err = syncBlocks(filepath.Join(streamFolder(s.dir, stream), "msgs"), t.clean)
	if mine.err == nil {
		s.synced.note()
	}
	close(mine.done)
	return mine.err
}

// syncBlocks syncs the files of a stream's messages, and their names. Unless clean is nil it leaves
// out the files that are as in clean, and notes the others there.
func syncBlocks(dir string, clean map[string]fs.FileInfo) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	blocks := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != blockSuffix {
			continue
		}
		blocks[name] = true
		now, err := entry.Info() // before the sync: what is written during it needs another one
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		if unchanged(clean[name], now) {
			continue
		}
		if err := syncFile(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		if clean != nil {
			clean[name] = now
		}
	}
	if len(blocks) == 0 {
		return fmt.Errorf("sync: %s has no messages: the engine keeps them elsewhere", dir)
	}
	maps.DeleteFunc(clean, func(name string, _ fs.FileInfo) bool { return !blocks[name] })
	return syncFolder(dir)
}

// unchanged says whether a file is what it was, nil if it was not there. The engine appends to its
// files, or puts others in their places.
func unchanged(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() &&
		before.ModTime().Equal(now.ModTime())
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

// SyncedAgo is how long ago the embedded journal last synced a claim, state or facts that somebody
// waited for, or was opened (wall time); -1 s for a journal in memory or in a cluster. Other facts
// do not count, because the engine syncs them by itself.
func (j *Journal) SyncedAgo() time.Duration {
	last := j.synced.last.Load()
	if last == nil {
		return -time.Second
	}
	return time.Since(*last)
}
