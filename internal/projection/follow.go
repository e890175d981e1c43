package projection

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Source is the part of the journal that a projection needs.
type Source interface {
	// Read calls handle with the facts from a number on, in order, and then with those that come
	// later. It returns nil when the context ends, and handle's error if handle fails.
	Read(ctx context.Context, from uint64, handle func(seq uint64, at time.Time, subject string, data []byte) error) error
}

// MaxBatch is how many facts are applied in one transaction at most. A fact alone takes seven times
// as long as one in a full batch (relay/archive, BenchmarkApply: 390 µs and 53 µs).
const MaxBatch = 512

// BatchWait is how long a batch waits for more facts.
const BatchWait = 20 * time.Millisecond

// applyTimeout is how long a batch may take. It also bounds the batch that is applied after the
// context has ended.
const applyTimeout = 10 * time.Second

// Follow applies facts as they come. It returns nil when the context ends, and the source's error
// if the source fails. A batch waits at most BatchWait for more facts. The next Follow reads the
// facts again that this one has not applied.
//
// While the database fails, Follow tries again after growing pauses, from the progress that the
// database then has. An outage is logged twice: when it begins and when it is over. A database that
// is Refused ends Follow. If the source is a Log, Follow checks that before each reading.
func (p *Projection) Follow(ctx context.Context, source Source) error {
	out := outage{log: p.cfg.Log.With("projection", p.cfg.Name)}
	for ctx.Err() == nil {
		err := p.followOnce(ctx, source, &out)
		failed := (*databaseError)(nil)
		if !errors.As(err, &failed) || Refused(err) {
			return err
		}
		out.wait(ctx, failed)
	}
	return nil
}

// databaseError is an error that ends one reading of the source, not Follow.
type databaseError struct {
	error
	// applying says that the error came while a batch was applied. Then only a batch that is
	// applied ends the outage.
	applying bool
}

// Unwrap is the cause.
func (e *databaseError) Unwrap() error { return e.error }

// progress prepares the database if that is not done yet, and reads where to begin.
func (p *Projection) progress(ctx context.Context) (last uint64, err error) {
	if err := p.Migrate(ctx); err != nil {
		return 0, err
	}
	if last, err = p.Last(ctx); err != nil {
		return 0, err
	}
	return last, p.tell(ctx)
}

// followOnce reads the source once, from the database's progress on. It returns nil when the
// context ends or the source has no more, the source's error, or a databaseError.
func (p *Projection) followOnce(ctx context.Context, source Source, out *outage) error {
	if journal, known := source.(Log); known {
		if err := p.Check(ctx, journal); err != nil {
			return &databaseError{error: err}
		}
	}
	last, err := p.progress(ctx)
	if err != nil {
		return &databaseError{error: err}
	}
	out.recordAnswer()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	entries, ended := read(reading, source, last+1)
	for {
		batch, err := nextBatch(entries, ended)
		if len(batch) > 0 {
			if err := p.applyInHand(ctx, last, batch); err != nil {
				return &databaseError{error: err, applying: true}
			}
			last = batch[len(batch)-1].Seq
			out.endOutage()
		}
		switch {
		case errors.Is(err, errEnded), ctx.Err() != nil && len(batch) == 0:
			return nil
		case err != nil:
			return fmt.Errorf("read facts for the %s: %w", p.cfg.Name, err)
		}
	}
}

// applyInHand applies a batch even if the context has ended meanwhile.
func (p *Projection) applyInHand(ctx context.Context, last uint64, batch []Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	return p.applyAfter(ctx, last, batch)
}

// read reads the source in a goroutine that ends with the context.
func read(ctx context.Context, source Source, from uint64) (<-chan Entry, <-chan error) {
	entries := make(chan Entry, MaxBatch)
	ended := make(chan error, 1)
	go func() {
		ended <- source.Read(ctx, from, func(seq uint64, at time.Time, subject string, data []byte) error {
			select {
			case entries <- Entry{Seq: seq, At: at, Subject: subject, Data: data}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return entries, ended
}

var errEnded = errors.New("the source has ended")

// nextBatch waits for an entry, and then takes those that come within BatchWait.
func nextBatch(entries <-chan Entry, ended <-chan error) (batch []Entry, err error) {
	select {
	case entry := <-entries:
		batch = append(batch, entry)
	case err := <-ended:
		if err == nil || errors.Is(err, context.Canceled) {
			err = errEnded
		}
		return nil, err
	}
	timer := time.NewTimer(BatchWait)
	defer timer.Stop()
	for len(batch) < MaxBatch {
		select {
		case entry := <-entries:
			batch = append(batch, entry)
		case <-timer.C:
			return batch, nil
		}
	}
	return batch, nil
}
