package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
)

// A journal may be used by one bundle RPC at a time: two would give the same numbers to different
// orders, and would not know each other's. Each run of the service is a term with a number of its
// own, which only one process can claim (raft's word; the journal calls it a life, as its first
// version did). While it runs it repeatedly writes a beat.
const (
	termState = subjectPrefix + "life"
	// beatEvery is how often the owner of a journal writes a beat. A service that starts watches
	// for beats for beatWatch (wall time).
	beatEvery = time.Second
	beatWatch = 5 * time.Second
	// termShift makes the numbers of a term's orders greater than those of all earlier terms,
	// whichever of their facts still exist.
	termShift = 32
)

// term is a run of the service that works with a journal.
type term struct {
	Number uint64 `json:"number"`
	Owner  string `json:"owner"`
	Beat   uint64 `json:"beat"`
	// Over says that it has ended in order.
	Over bool `json:"over,omitempty"`
}

// errReplaced ends a service whose journal another one has taken over.
var errReplaced = errors.New("another gavel rpc has taken over the journal, since this one did not say for long " +
	"that it lives: only one may work with it")

// soleLease is this process' term with its journal.
type soleLease struct {
	journal *journal.Journal
	term    term
	over    atomic.Bool // another process has the journal
}

// acquireLease claims the next term. Before, it watches for span whether the owner of the newest
// term still runs.
func acquireLease(ctx context.Context, j *journal.Journal, span time.Duration) (*soleLease, error) {
	last, err := termOf(ctx, j)
	if err != nil {
		return nil, err
	}
	if last.Number > 0 && !last.Over {
		if err := awaitSilence(ctx, j, last, span); err != nil {
			return nil, err
		}
	}
	host, _ := os.Hostname() // for the operator to read; without it the process' number must do
	owner := fmt.Sprintf("%s, process %d, since %s", host, os.Getpid(), time.Now().UTC().Format(time.RFC3339Nano))
	for number := last.Number + 1; ; number++ {
		_, won, err := j.Claim(ctx, fmt.Sprintf("rpc-life-%d", number), []byte(owner))
		if err != nil {
			return nil, fmt.Errorf("claim the journal: %w", err)
		}
		if won {
			t := &soleLease{journal: j, term: term{Number: number, Owner: owner}}
			return t, t.put(ctx)
		}
		// Another process has claimed this term but not written it: it is about to, or it was
		// killed in between, or its write was lost.
		if err := awaitClaimant(ctx, j, last, span); err != nil {
			return nil, err
		}
	}
}

// awaitClaimant refuses the journal if another term becomes the newest before the span is over.
func awaitClaimant(ctx context.Context, j *journal.Journal, last term, span time.Duration) error {
	for end := time.Now().Add(span); ; {
		now, err := termOf(ctx, j)
		switch {
		case err != nil:
			return err
		case now != last:
			return inUse(now)
		case !time.Now().Before(end):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(beatEvery/2, time.Until(end))):
		}
	}
}

func termOf(ctx context.Context, j *journal.Journal) (last term, err error) {
	data, err := j.State(ctx, termState)
	if errors.Is(err, journal.ErrNotFound) {
		return last, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if err != nil {
		return last, fmt.Errorf("read who works with the journal: %w", err)
	}
	return last, nil
}

// awaitSilence refuses a journal whose owner runs. An owner that was killed writes no beat during
// the span.
func awaitSilence(ctx context.Context, j *journal.Journal, last term, span time.Duration) error {
	for end := time.Now().Add(span); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatEvery / 2):
		}
		now, err := termOf(ctx, j)
		switch {
		case err != nil:
			return err
		case now.Over:
			return nil
		case now != last:
			return inUse(now)
		}
	}
	return nil
}

func inUse(by term) error {
	return fmt.Errorf("another gavel rpc works with this journal (%s): one journal has one at a time; stop that one, "+
		"or give this one a journal of its own", by.Owner)
}

func (l *soleLease) put(ctx context.Context) error {
	data, err := json.Marshal(l.term)
	if err != nil {
		return fmt.Errorf("encode who works with the journal: %w", err)
	}
	return l.journal.PutState(ctx, termState, data)
}

// renew writes a beat again and again until the context ends. Its error says that another process
// has taken over.
func (l *soleLease) renew(ctx context.Context) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
		timed, cancel := context.WithTimeout(ctx, beatEvery)
		now, err := termOf(timed, l.journal)
		if err == nil && now.Number > l.term.Number {
			cancel()
			l.over.Store(true)
			return errReplaced
		}
		if err == nil {
			l.term.Beat++
			_ = l.put(timed) // other parts report a journal that is unavailable; the next beat tries again
		}
		cancel()
	}
}

// release ends this term, so that the next one need not wait for it.
func (l *soleLease) release(ctx context.Context) error {
	if l.over.Load() {
		return nil
	}
	l.term.Over = true
	return l.put(ctx)
}
