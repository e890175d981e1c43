package clock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Paced is a clock that runs at most speed times as fast as the wall, and stands while there is
// work to do. So a busy machine makes a run longer and changes nothing else: no deadline of chain
// time passes while work is left that must be done before it. The clock stands at its origin until
// Start, and moves only while Run runs.
type Paced struct {
	stepped *Stepped
	origin  time.Time
	speed   float64
	started chan struct{} // closed by Start
	once    sync.Once
}

const (
	// paceStep is how long the clock waits between two looks at the work (wall time).
	paceStep = 2 * time.Millisecond
	// longestStep bounds how much wall time one step makes up for, so that steps stay small,
	// however long the machine was busy.
	longestStep = 2 * paceStep
	// catchUp is how many times faster than its speed a clock runs while it is behind.
	catchUp = 2
)

// NewPaced returns a clock that stands at its origin. A speed of 0 or below means 1.
func NewPaced(origin time.Time, speed float64) *Paced {
	if speed <= 0 {
		speed = 1
	}
	return &Paced{stepped: NewStepped(origin), origin: origin, speed: speed, started: make(chan struct{})}
}

// Start lets the clock run. It has no effect on one that runs.
func (p *Paced) Start() { p.once.Do(func() { close(p.started) }) }

// Now implements Clock.
func (p *Paced) Now() time.Time { return p.stepped.Now() }

// Until implements Clock.
func (p *Paced) Until(ctx context.Context, t time.Time) error { return p.stepped.Until(ctx, t) }

// Run moves the clock until the context ends, and returns nil then. settle must return once nothing
// is left to do at the time that the clock shows; its error ends Run. If moved is not nil, Run
// calls it with each new time right after the clock shows it.
func (p *Paced) Run(ctx context.Context, settle func(context.Context) error, moved func(time.Time)) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.started:
	}
	began := time.Now()
	for last := began; sleep(ctx, paceStep) == nil; {
		if err := settle(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		wall := time.Now()
		now := p.next(wall.Sub(began), wall.Sub(last))
		last = wall
		p.stepped.Set(now)
		if moved != nil {
			moved(now)
		}
	}
	return nil
}

// RunAlone is Run for the case that all work is done in this process and all waits use this clock.
func (p *Paced) RunAlone(ctx context.Context) (err error) {
	idle, err := NewIdle()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, idle.Close()) }()
	return p.Run(ctx, func(ctx context.Context) error {
		_, err := idle.Wait(ctx)
		return err
	}, nil)
}

// next is what the clock shows after so much wall time since the start and since the step before.
// It is never more than the speed allows, counted from the start.
func (p *Paced) next(sinceStart, sinceStep time.Duration) time.Time {
	latest := p.origin.Add(p.chainTime(sinceStart))
	next := p.Now().Add(p.chainTime(catchUp * min(sinceStep, longestStep)))
	if next.After(latest) {
		return latest
	}
	return next
}

func (p *Paced) chainTime(wall time.Duration) time.Duration {
	return time.Duration(float64(wall) * p.speed)
}

var _ Clock = (*Paced)(nil)
