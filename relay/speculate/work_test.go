package speculate

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Work is done once, whoever asks, and who asks meanwhile waits for it.
func TestWorkIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times, waiting atomic.Int32
		release := make(chan struct{})
		work := newWork(func() int {
			<-release
			return int(times.Add(1))
		})
		if work.isBegun() || work.isDone() {
			t.Error("begun by nobody")
		}
		for range 3 {
			go func() {
				waiting.Add(1)
				if got := work.do(); got != 1 {
					t.Errorf("%d", got)
				}
				waiting.Add(-1)
			}()
		}
		synctest.Wait()
		if !work.isBegun() || work.isDone() || waiting.Load() != 3 {
			t.Errorf("begun %v, done %v, %d wait", work.isBegun(), work.isDone(), waiting.Load())
		}
		close(release)
		synctest.Wait()
		if !work.isDone() || waiting.Load() != 0 || work.do() != 1 {
			t.Errorf("done %v, %d wait", work.isDone(), waiting.Load())
		}
	})
}
