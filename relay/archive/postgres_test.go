package archive

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/internal/store/postgrestest"
	"github.com/gavel-relay/gavel/relay"
)

// The server is away when the relay starts, and once more in the middle of a thousand facts: nothing is missing, nothing is double.
func TestFollowWhileTheServerStops(t *testing.T) {
	const facts = 3 * maxBatch
	j := journalOf(t, facts)
	server := postgrestest.Start(t)
	address := server.Database(t)
	server.Stop(t)

	a, err := Open(t.Context(), address, quiet)
	if err != nil {
		t.Fatalf("a relay does not start without its database: %v", err)
	}
	defer a.Close()
	if _, err := a.Received(t.Context(), relay.TraceQuery{Limit: 1}); !isUnavailable(err) {
		t.Errorf("%v, want %s", err, relay.ArchiveUnavailable.ID)
	}

	applied := make(chan struct{}, 1)
	a.database = signalling{a.database, applied}
	ctx, cancel := context.WithCancel(t.Context())
	source := &pausing{Journal: j, at: []uint64{1, facts / 2}, reached: make(chan uint64), goOn: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- a.Follow(ctx, source) }()
	server.Restart(t)
	for _, at := range source.at { // while Follow reads, and after it has applied some
		if got := <-source.reached; got != at {
			t.Fatalf("paused at %d, want %d", got, at)
		}
		server.Stop(t)
		source.goOn <- struct{}{}
		server.Restart(t)
	}
	for last := uint64(0); last < facts; {
		<-applied
		if last, err = a.Last(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	rows, err := a.Received(t.Context(), relay.TraceQuery{Limit: 2 * facts})
	if err != nil || len(rows) != facts {
		t.Errorf("%d rows, %v, want %d", len(rows), err, facts)
	}
}

// isUnavailable tells that the Data API answers 503.
func isUnavailable(err error) bool {
	refused := (*relay.Refused)(nil)
	return errors.As(err, &refused) && refused.ID == relay.ArchiveUnavailable.ID
}

// pausing is a journal that waits at some facts.
type pausing struct {
	*journal.Journal
	at      []uint64
	reached chan uint64
	goOn    chan struct{}
	passed  atomic.Int32 // of at
}

// Read implements Source.
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
	database
	kept chan struct{}
}

// InTx implements database.
func (s signalling) InTx(ctx context.Context, do func(store.Tx) error) error {
	err := s.database.InTx(ctx, do)
	if err == nil {
		select {
		case s.kept <- struct{}{}:
		default: // one is waiting to be seen
		}
	}
	return err
}
