package app

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/relay"
)

// demotion is a demotion that this instance has recorded, and which one it was.
type demotion struct {
	relay.BuilderDemoted
	number int
}

// inTurn applies a change whose order matters. While a change of the same subject by this instance
// is on its way, nobody knows which is the last; then this waits. apply calls counts under the lock
// under which such changes are recorded, and returns what counts said.
func (s *state) inTurn(ctx context.Context, seq uint64, subject string, apply func(counts func() bool) bool) error {
	for {
		if err := s.waitSettled(ctx, subject); err != nil {
			return err
		}
		var last, later bool
		applied := apply(func() bool {
			last, later = s.turn(subject, seq)
			return last
		})
		if applied || later {
			return nil
		}
	}
}

// waitSettled returns when no change of a subject by this instance is on its way to the journal, or
// with the context's error.
func (s *state) waitSettled(ctx context.Context, subject string) error {
	for {
		s.mu.Lock()
		pending, changed := s.pending(subject), s.changed
		s.mu.Unlock()
		if !pending {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until state is kept: %w", ctx.Err())
		}
	}
}

// pending says whether a change of a subject waits or is being stored. The caller holds mu.
func (s *state) pending(subject string) bool {
	return s.waiting[subject] != nil || s.writing[subject] != nil
}

// turn says whether a change that was heard under a number is the last one of its subject. later
// means that a change of this instance is behind it in the stream; if both are false, one of this
// instance is on its way, and its number is not known.
func (s *state) turn(subject string, seq uint64) (last, later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending(subject) {
		return false, false
	}
	last = seq > s.stored[subject]
	return last, !last
}

// noteDelivery notes a delivery of another instance, so that an older one does not take its place.
func (s *state) noteDelivery(delivered relay.PayloadDelivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered = max(s.delivered, delivered.Slot)
}

// noteDemotion notes a demotion that another instance has stored: the next number is behind its
// number. If it has taken the place of one of this instance, that one is stored again, since both
// instances had counted to the same number. While that one is on its way this waits.
func (s *state) noteDemotion(ctx context.Context, subject string, seq uint64) error {
	number, err := strconv.Atoi(strings.TrimPrefix(subject, stateDemotion+"."))
	if err != nil || number < 0 || number >= keptDemotions {
		return nil
	}
	if err := s.waitSettled(ctx, subject); err != nil {
		return err
	}
	s.mu.Lock()
	// Numbers go round, so half of them are ahead.
	if ahead := (number + 1 - s.demotions%keptDemotions + keptDemotions) % keptDemotions; ahead < keptDemotions/2 {
		s.demotions += ahead
	}
	own, displaced := s.own[subject]
	displaced = displaced && seq > s.stored[subject]
	if displaced {
		delete(s.own, subject)
	}
	recent := s.demotions-own.number < keptDemotions/2
	s.mu.Unlock()
	if displaced && recent {
		s.Record(own.BuilderDemoted)
	}
	return nil
}
