package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrDiskLow says that facts are refused because the disk is nearly full: the rest of it is
// reserved for guard, state and escrow.
var ErrDiskLow = errors.New("the journal's disk is nearly full: facts are not kept")

const (
	// watchEvery is how often the disk of an embedded journal is measured (wall time).
	watchEvery = time.Second
	// aliveTime is how long the engine may take to store a byte before it counts as stopped (wall
	// time).
	aliveTime = 2 * time.Second
	// leastFree and mostFree bound how many bytes facts leave free.
	leastFree, mostFree = 32 << 20, 1 << 30
	// leastWrite is how many bytes the engine may write at once. With less free, a write to one of
	// its files may have failed.
	leastWrite = 16 << 20
	// aliveSubject is the subject of the test writes by which the watch checks the engine.
	aliveSubject = "gavel.alive"
)

// disk watches the disk of an embedded journal. Facts are refused before it is full. An engine that
// has met a full disk writes nothing any more, so its storage is restarted inside this process as
// soon as there is room.
type disk struct {
	journal *Journal
	dir     string
	// reserve is how many bytes facts leave free.
	reserve int64
	log     *slog.Logger

	free    atomic.Int64
	low     atomic.Bool // facts are refused
	suspect atomic.Bool // the engine may have stopped
	stopped atomic.Bool // the engine has stopped
	full    bool        // a write of the engine may have met a full disk; only the watch's goroutine uses it
	end     context.CancelFunc
	group   sync.WaitGroup
}

// watchDisk starts the watch; close ends it.
func (j *Journal) watchDisk(dir string) error {
	room, err := diskFor(dir)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	j.disk = &disk{journal: j, dir: dir, reserve: min(max(room/20, leastFree), mostFree), log: j.log, end: end}
	j.disk.free.Store(room)
	j.disk.group.Go(func() { j.disk.run(ctx) })
	return nil
}

func (d *disk) close() {
	d.end()
	d.group.Wait()
}

func (d *disk) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		d.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look measures the disk once, and restarts the engine if it has stopped and there is room.
func (d *disk) look(ctx context.Context) {
	free, err := freeBytes(d.dir)
	if err != nil {
		d.log.Warn("the journal's disk is not watched", "error", err)
		return
	}
	d.free.Store(free)
	if low := free < d.reserve; low != d.low.Swap(low) {
		if low {
			d.log.Error("the journal's disk is nearly full: facts are not kept until there is room", "free_bytes", free,
				"needed_bytes", d.reserve)
		} else {
			d.log.Info("the journal's disk has room again: facts are kept", "free_bytes", free)
		}
	}
	// Half of the reserve is enough to restart the engine. On a disk that is fuller the engine is
	// not tested, because the test writes might stop it.
	if free < d.reserve/2 {
		d.full = d.full || free < leastWrite
		d.suspect.Store(true)
		return
	}
	if d.full { // one stream may have stopped at a full disk although the others still work
		d.full = false
		d.restart()
		return
	}
	if !d.suspect.Load() && d.journal.server.JetStreamEnabled() {
		return
	}
	if err := d.alive(ctx); err == nil {
		d.suspect.Store(false)
		if d.stopped.Swap(false) {
			d.log.Info("the journal's engine keeps what it is given again")
		}
		return
	}
	if ctx.Err() == nil {
		d.restart()
	}
}

// alive tests the engine: it stores a byte of state, and a fact that no projection reads.
func (d *disk) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	if err := d.journal.PutState(ctx, aliveSubject, []byte{1}); err != nil {
		return err
	}
	_, err := d.journal.Append(ctx, aliveSubject, []byte("{}"))
	return err
}

// restart stops the engine's storage and starts it again. The next look tests whether it works.
func (d *disk) restart() {
	d.stopped.Store(true)
	d.log.Error("the journal's engine keeps nothing, and is started again")
	if err := d.journal.server.ShutdownJetStream(); err != nil {
		d.log.Error("the journal's engine does not stop", "error", err)
	}
	// Messages on their way to the old storage are never acked. They count as lost now, so that
	// nobody waits for them.
	d.journal.js.CleanupPublisher()
	cfg := server.JetStreamConfig{StoreDir: d.dir, MaxStore: engineQuota, MaxMemory: engineQuota, SyncInterval: syncEvery}
	if err := d.journal.server.EnableJetStream(&cfg); err != nil {
		d.log.Error("the journal's engine does not start: free room on its disk; it is tried again", "error", err)
	}
}

// Health is the reason why an embedded journal does not store what it is given, or nil. For a
// cluster it is always nil: the cluster's servers report their own health.
func (j *Journal) Health() error {
	switch {
	case j.disk == nil:
		return nil
	case j.disk.stopped.Load():
		return errors.New("the journal's engine has stopped and is being started again: look at its disk")
	case j.disk.low.Load():
		return fmt.Errorf("%w: %s are free, %s are needed", ErrDiskLow, size(j.disk.free.Load()), size(j.disk.reserve))
	}
	return nil
}

// FreeBytes is how many bytes the disk of an embedded journal has left; -1 for a journal in memory
// or in a cluster.
func (j *Journal) FreeBytes() int64 {
	if j.disk == nil {
		return -1
	}
	return j.disk.free.Load()
}

// low says whether facts are refused.
func (j *Journal) low() bool { return j.disk != nil && j.disk.low.Load() }

// suspectEngine has the watch test the engine, after it failed to store something.
func (j *Journal) suspectEngine() {
	if j.disk != nil {
		j.disk.suspect.Store(true)
	}
}
