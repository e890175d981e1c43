package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// syncPause is how long after one sync the next begins at the earliest (wall time). Top bids change
// faster than a disk can sync, and only the last one is needed.
const syncPause = 50 * time.Millisecond

// topSync makes the payloads of top bids survive a power cut. The bid does not wait for this: it is
// shown before the sync. topSync listens to facts.
type topSync struct {
	// sync writes a payload in the escrow through to the disk.
	sync func(ctx context.Context, id relay.PayloadID) error
	log  *slog.Logger

	newest atomic.Pointer[relay.TopChanged]
	wake   chan struct{} // holds one signal
}

func newTopSync(sync func(context.Context, relay.PayloadID) error, log *slog.Logger) *topSync {
	return &topSync{sync: sync, log: log, wake: make(chan struct{}, 1)}
}

// Record implements relay.Facts.
func (s *topSync) Record(fact relay.Fact) {
	top, changed := fact.(relay.TopChanged)
	if !changed {
		return
	}
	s.newest.Store(&top)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run syncs until the context ends.
func (s *topSync) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		top := s.newest.Load()
		if err := s.sync(ctx, relay.PayloadID{Slot: top.Slot, BlockHash: top.BlockHash, Builder: top.Builder}); err != nil &&
			ctx.Err() == nil {
			s.log.Warn("the leading payload would not survive a power cut", "slot", top.Slot, "error", err)
		}
		pause := time.NewTimer(syncPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}
