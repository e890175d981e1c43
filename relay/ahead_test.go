package relay

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
		work := NewWork(func() int {
			<-release
			return int(times.Add(1))
		})
		if work.Begun() || work.Done() {
			t.Error("begun by nobody")
		}
		for range 3 {
			go func() {
				waiting.Add(1)
				if got := work.Do(); got != 1 {
					t.Errorf("%d", got)
				}
				waiting.Add(-1)
			}()
		}
		synctest.Wait()
		if !work.Begun() || work.Done() || waiting.Load() != 3 {
			t.Errorf("begun %v, done %v, %d wait", work.Begun(), work.Done(), waiting.Load())
		}
		close(release)
		synctest.Wait()
		if !work.Done() || waiting.Load() != 0 || work.Do() != 1 {
			t.Errorf("done %v, %d wait", work.Done(), waiting.Load())
		}
	})
}
