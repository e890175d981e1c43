package projection_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

// The server is away when the service starts, and once more in the middle of a thousand facts:
// nothing is missing, nothing is double.
func TestFollowWhileTheServerStops(t *testing.T) {
	const facts = 3 * projection.MaxBatch
	j := journalOf(t, facts)
	server := projectiontest.StartPostgres(t)
	address := server.Database(t)
	server.Stop(t)

	v, err := projection.Open(t.Context(), address, words(quiet))
	if err != nil {
		t.Fatalf("a service does not start without its database: %v", err)
	}
	defer v.Close()
	if _, err := v.Last(t.Context()); !projection.Unavailable(err) {
		t.Errorf("%v, want one that is over when the server is there", err)
	}

	applied := make(chan struct{}, 1)
	v.Database = signalling{v.Database, applied}
	ctx, cancel := context.WithCancel(t.Context())
	source := &pausing{Journal: j, at: []uint64{1, facts / 2}, reached: make(chan uint64), goOn: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- v.Follow(ctx, source) }()
	server.Restart(t)
	for _, at := range source.at { // while Follow reads, and after it has applied some
		if got := <-source.reached; got != at {
			t.Fatalf("paused at %d, want %d", got, at)
		}
		server.Stop(t)
		source.goOn <- struct{}{}
		server.Restart(t)
	}
	for last(t, v) < facts {
		<-applied
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if rows := count(t, v); rows != facts {
		t.Errorf("%d rows, want %d", rows, facts)
	}
}

// pausing is a journal that waits at some facts.
type pausing struct {
	*journal.Journal
	at      []uint64
	reached chan uint64
	goOn    chan struct{}
	passed  atomic.Int32 // of at
}

// Read implements projection.Source.
func (p *pausing) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	return p.Journal.Read(ctx, from, func(seq uint64, at time.Time, subject string, data []byte) error {
		if err := handle(seq, at, subject, data); err != nil {
			return err
		}
		if next := int(p.passed.Load()); next < len(p.at) && seq == p.at[next] {
			p.passed.Add(1)
			p.reached <- seq
			<-p.goOn
		}
		return nil
	})
}

// signalling tells of transactions that were kept.
type signalling struct {
	projection.Database
	kept chan struct{}
}

// InTx implements projection.Database.
func (s signalling) InTx(ctx context.Context, do func(projection.Tx) error) error {
	err := s.Database.InTx(ctx, do)
	if err == nil {
		select {
		case s.kept <- struct{}{}:
		default: // one is waiting to be seen
		}
	}
	return err
}
