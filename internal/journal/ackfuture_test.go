package journal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// All who wait share the patience of the first: with an ack in time all have it, without one all
// stop then, and who comes later does at once.
func TestWaitAtMost(t *testing.T) {
	const patience = 3 * time.Second
	refused := errors.New("refused")
	for name, row := range map[string]struct {
		ack  time.Duration // 0 for none
		err  error
		want error
		stop time.Duration
	}{
		"acked in time":   {time.Second, nil, nil, time.Second},
		"refused in time": {time.Second, refused, refused, time.Second},
		"acked too late":  {5 * time.Second, nil, context.DeadlineExceeded, patience},
		"never acked":     {0, nil, context.DeadlineExceeded, patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				future, began := newAckFuture(), time.Now()
				if row.ack > 0 {
					time.AfterFunc(row.ack, func() { future.recordAck(row.err) })
				}
				wait := func(after time.Duration) {
					time.Sleep(after)
					from := time.Since(began)
					err := future.WaitAtMost(patience)
					if until := time.Since(began); !errors.Is(err, row.want) || until != max(from, row.stop) {
						t.Errorf("from %v: %v at %v, want %v at %v", from, err, until, row.want, max(from, row.stop))
					}
				}
				go wait(0)
				go wait(time.Second / 2)
				wait(0)
				synctest.Wait()
				if row.ack != 5*time.Second {
					wait(patience)
				}
			})
		})
	}
}

// A future that is done has no timer left that anybody could wait for.
func TestWaitAtMostAfterTheAck(t *testing.T) {
	future := newAckFuture()
	future.recordAck(nil)
	if err := future.WaitAtMost(0); err != nil || future.patience != nil {
		t.Errorf("%v, timer %v", err, future.patience)
	}
}
