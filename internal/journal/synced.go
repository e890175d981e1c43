package journal

import (
	"sync/atomic"
	"time"
)

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
