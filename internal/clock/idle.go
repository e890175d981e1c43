package clock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/metrics"
	"time"
)

// Idle finds out when this process has nothing to do: no goroutine runs or could run, and no call
// of C or of the system works. A goroutine that waits for a timer of the wall has nothing to do.
// Idle is for one goroutine at a time.
type Idle struct {
	from, to *os.File      // a pipe to this process itself, see poll
	polled   chan struct{} // one value for each byte that came through the pipe
	samples  []metrics.Sample
	// blocked is how many calls of the system are known to wait only, such as the one that waits for
	// signals.
	blocked uint64
}

const (
	// idleRetry is the pause between two looks at a process that works.
	idleRetry = 100 * time.Microsecond
	// idleBlocked is how long a call of the system must have lasted before it can count as one that
	// only waits. So a call that waits for a disk counts as work for that long.
	idleBlocked = 20 * time.Millisecond
	// idlePatience bounds a wait, so that a goroutine that never rests cannot stop a clock for
	// ever.
	idlePatience = 2 * time.Second
	// idleLooks is how often in a row a process must look idle.
	idleLooks = 2
)

// NewIdle opens what Wait needs; Close closes it.
func NewIdle() (*Idle, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	i := &Idle{from: from, to: to, polled: make(chan struct{})}
	for _, state := range []string{"running", "runnable", "not-in-go"} {
		i.samples = append(i.samples, metrics.Sample{Name: "/sched/goroutines/" + state + ":goroutines"})
	}
	go i.read()
	return i, nil
}

// Close closes the pipe. It must not be called during Wait.
func (i *Idle) Close() error { return errors.Join(i.to.Close(), i.from.Close()) }

// Wait returns when this process, except for the caller, has nothing to do. If the process has
// worked for idlePatience without a rest, Wait gives up and returns false.
func (i *Idle) Wait(ctx context.Context) (idle bool, err error) {
	began, looks := time.Now(), 0
	calls := calls{since: began}
	for {
		if err := i.poll(); err != nil {
			return false, err
		}
		metrics.Read(i.samples)
		running, runnable, outside := i.samples[0].Value.Uint64(), i.samples[1].Value.Uint64(), i.samples[2].Value.Uint64()
		if i.blocked = min(i.blocked, outside); outside > i.blocked && calls.onlyWait(outside) {
			i.blocked = outside
		}
		if running > 1 || runnable > 0 || outside > i.blocked { // the caller runs
			looks = 0
		} else if looks++; looks == idleLooks {
			return true, nil
		} else {
			continue
		}
		if time.Since(began) > idlePatience {
			return false, nil
		}
		if err := sleep(ctx, idleRetry); err != nil {
			return false, err
		}
	}
}

// poll makes the runtime look at the network. Without it a process can look idle although data has
// arrived that the runtime has not noticed yet. poll sends a byte through a pipe to a goroutine
// that sleeps at the other end. The runtime finds the byte with the same poller that finds data of
// connections, so afterwards every goroutine whose data had arrived before is runnable. If the
// reader does not sleep, it gets the byte without the poller. But it sleeps whenever a look finds
// the process idle, so the poll of the next look uses the poller; therefore idleLooks is at least
// 2.
func (i *Idle) poll() error {
	if _, err := i.to.Write([]byte{0}); err != nil {
		return fmt.Errorf("write to a pipe: %w", err)
	}
	<-i.polled
	return nil
}

// read answers poll until the pipe is closed.
func (i *Idle) read() {
	for one := make([]byte, 1); ; i.polled <- struct{}{} {
		if _, err := i.from.Read(one); err != nil {
			return
		}
	}
}

// calls distinguishes calls of the system that only wait from those that work.
type calls struct {
	number uint64
	since  time.Time // when the number changed, or was judged
}

// onlyWait says whether the number of calls has been the same for idleBlocked and none of them
// works.
func (c *calls) onlyWait(number uint64) bool {
	now := time.Now()
	if number == c.number && now.Sub(c.since) < idleBlocked {
		return false
	}
	same := number == c.number
	c.number, c.since = number, now
	return same && !threadsWork()
}
