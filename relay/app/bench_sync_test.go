package app

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// leaderSyncs has the payloads that lead outlive a power cut, as a relay does, and notes how long
// the disk took for each.
type leaderSyncs struct {
	mu   sync.Mutex // guards took
	took []time.Duration
}

// syncLeaders syncs until the benchmark ends. Facts have to reach the leaders that it returns.
func syncLeaders(b testing.TB, payloads escrow) (leaders *topSync, noted *leaderSyncs) {
	b.Helper()
	noted = new(leaderSyncs)
	leaders = newTopSync(func(ctx context.Context, id relay.PayloadID) error {
		began := time.Now()
		err := payloads.sync(ctx, id)
		noted.mu.Lock()
		defer noted.mu.Unlock()
		noted.took = append(noted.took, time.Since(began))
		if err != nil && ctx.Err() == nil {
			b.Errorf("sync a leader: %v", err)
		}
		return err
	}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- leaders.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return leaders, noted
}

// report says how many leaders were synced, and how long that took.
func (l *leaderSyncs) report(b *testing.B) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		b.Error("no leader was synced")
		return
	}
	b.ReportMetric(float64(len(l.took)), "leaders-synced")
	b.ReportMetric(percentile(l.took, 0.5).Seconds()*1000, "sync-p50-ms")
	b.ReportMetric(percentile(l.took, 0.99).Seconds()*1000, "sync-p99-ms")
}
