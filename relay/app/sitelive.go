package app

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/relay/web"
)

// viewEvery is how often viewers of the website get a new state (chain time).
const viewEvery = 750 * time.Millisecond

// errSiteCloses ends the streams of viewers when the relay stops.
var errSiteCloses = errors.New("the relay stops")

// liveView is the newest state of the auction that runs, encoded once for all viewers. Each waits
// for the next state and misses those that come while it is written to.
type liveView struct {
	waiting atomic.Int64 // viewers that wait for a state

	mu      sync.Mutex // guards all below
	state   []byte
	number  uint64
	changed chan struct{} // closed and replaced with each new state
	closed  bool
}

func newLiveView() *liveView { return &liveView{changed: make(chan struct{})} }

// Next implements api.LiveAuction.
func (l *liveView) Next(ctx context.Context, after uint64) ([]byte, uint64, error) {
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	for {
		l.mu.Lock()
		state, number, changed, closed := l.state, l.number, l.changed, l.closed
		l.mu.Unlock()
		switch {
		case closed:
			return nil, after, errSiteCloses
		case number > after:
			return state, number, nil
		}
		select {
		case <-ctx.Done():
			return nil, after, ctx.Err()
		case <-changed:
		}
	}
}

// publish gives viewers a new state, unless it is the one that they have.
func (l *liveView) publish(state []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if string(state) == string(l.state) {
		return
	}
	l.state = state
	l.number++
	close(l.changed)
	l.changed = make(chan struct{})
}

// close ends all viewers' streams.
func (l *liveView) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.changed)
	}
}

// current returns the auction that viewers follow; false if there is none yet.
func (s *site) current(at time.Time) (web.Live, bool) {
	s.mu.Lock()
	slot, known := s.auctions.Current(s.policy, at)
	auction, _ := s.auctions.Of(slot)
	s.mu.Unlock()
	return s.policy.Live(s.policy.Show(&auction, at), at), known
}

// runSite publishes the auction that runs until the context ends, while anybody looks.
func (a *App) runSite(ctx context.Context) error {
	if a.site == nil {
		return nil
	}
	for {
		if err := a.cfg.Clock.Until(ctx, a.cfg.Clock.Now().Add(viewEvery)); err != nil {
			return nil // the relay stops
		}
		if a.site.live.waiting.Load() == 0 {
			continue
		}
		if view, known := a.site.current(a.cfg.Clock.Now()); known {
			state, err := json.Marshal(view)
			if err != nil { // only numbers and texts
				a.reportFailure("show the auction on the website", err)
				continue
			}
			a.site.live.publish(state)
		}
	}
}
