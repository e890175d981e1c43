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
// of C or of the system works. Who waits for a timer of the wall has nothing to do. It is for one
// goroutine at a time.
type Idle struct {
	from, to *os.File      // a pipe to this process itself, see poll
	polled   chan struct{} // what came through the pipe
	samples  []metrics.Sample
	// blocked is how many calls of the system are known to wait only, such as the one that waits for
	// signals.
	blocked uint64
}

const (
	// idleRetry is the pause between two looks at a process that works.
	idleRetry = 100 * time.Microsecond
	// idleBlocked is how long a call of the system must have lasted to be one that may only wait. So
	// one that waits for a disk is work for that long.
	idleBlocked = 20 * time.Millisecond
	// idlePatience bounds a wait, so that somebody who never rests cannot make a clock stand for ever.
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

// Close closes the pipe. Nobody may be in Wait.
func (i *Idle) Close() error { return errors.Join(i.to.Close(), i.from.Close()) }

// Wait returns when this process, but for its caller, has nothing to do. It gives up, and says that
// the process is not idle, when it has worked for idlePatience without a rest.
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

// poll sends a byte through a pipe to a goroutine that sleeps at the other end. The runtime finds
// it with the poller by which it finds what comes through connections. So afterwards everybody is
// runnable for whom something had come before. Without poll a process looks idle whose network
// nobody has looked at. The reader sleeps whenever a look finds the process idle: the poll of the
// look after that is a real one, and idleLooks is at least 2.
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

// calls tells calls of the system that only wait from those that work.
type calls struct {
	number uint64
	since  time.Time // when the number changed, or was judged
}

// onlyWait says that a number of calls has been the same for idleBlocked, and none of them works.
func (c *calls) onlyWait(number uint64) bool {
	now := time.Now()
	if number == c.number && now.Sub(c.since) < idleBlocked {
		return false
	}
	same := number == c.number
	c.number, c.since = number, now
	return same && !threadsWork()
}
