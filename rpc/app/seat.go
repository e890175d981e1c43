package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/lease"
)

// errDeposed says that this instance does not own the orders any more.
var errDeposed = errors.New("this instance does not own the orders any more")

// seat is a term in which this instance owns the orders. It is safe for concurrent use. A service
// that has the journal for itself has none, which is nil.
type seat struct {
	number uint64
	// lost ends when the term is over although nobody has stopped the instance.
	lost context.Context

	mu    *sync.Mutex // guards lease, which is the instance's
	lease *lease.Seat
}

func (s *seat) valid() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.Term(time.Now()) == s.number
}

// owns, lostContext and confirm are what the parts ask that must do nothing after the term.
func (s *seat) owns() func() bool {
	if s == nil {
		return nil
	}
	return s.valid
}

func (s *seat) lostContext() context.Context {
	if s == nil {
		return nil
	}
	return s.lost
}

// confirm refuses to answer after the term: what was done may be of a term that is over.
func (s *seat) confirm() func() *rpc.Refused {
	if s == nil {
		return nil
	}
	return func() *rpc.Refused {
		if s.valid() {
			return nil
		}
		return rpc.AnswerUnknown.Plain()
	}
}

// state is where the service's state is stored.
func (a *App) state() stateStore {
	if a.seat == nil {
		return a.journal
	}
	return ownState{a.journal, a.seat}
}

// ownState is the journal's state for the owner of the orders. Each write is checked twice: the
// term is valid after the state that it replaces was read, and the journal replaces that state
// alone. So a write that comes late, from a process that stood still, never replaces what the next
// owner has stored.
type ownState struct {
	*journal.Journal
	seat *seat
}

// PutState implements stateStore.
func (s ownState) PutState(ctx context.Context, subject string, data []byte) error {
	number, _, err := s.NumberedState(ctx, subject)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	if !s.seat.valid() {
		return fmt.Errorf("keep state %s: %w", subject, errDeposed)
	}
	_, won, err := s.SwapState(ctx, subject, number, data)
	if err == nil && !won {
		err = fmt.Errorf("keep state %s: another instance has stored it", subject)
	}
	return err
}

// DropState implements stateStore.
func (s ownState) DropState(ctx context.Context, subject string) error {
	last, err := s.LastState(ctx)
	if err != nil {
		return err
	}
	if !s.seat.valid() {
		return fmt.Errorf("forget state %s: %w", subject, errDeposed)
	}
	return s.DropStateBefore(ctx, subject, last+1)
}

// claimLists stores the heads of the lists again as they are, so that a write of the owner before,
// which is still on its way, finds that they are others.
func (s ownState) claimLists(ctx context.Context) error {
	for _, subject := range []string{snapshotState, owedState} {
		for won := false; !won; {
			number, data, err := s.NumberedState(ctx, subject)
			if errors.Is(err, journal.ErrNotFound) {
				break
			}
			if err == nil {
				_, won, err = s.SwapState(ctx, subject, number, data)
			}
			if err != nil {
				return fmt.Errorf("take over state: %w", err)
			}
		}
	}
	return nil
}
