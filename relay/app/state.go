package app

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// Subjects of the relay's state. Under each is the fact that made the state.
//
//	relay.kill_switch          KillSwitchChanged, the last
//	relay.delivered            PayloadDelivered, the last
//	relay.builder.<name>       BuilderChanged, the last of the name
//	relay.demotion.<number>    BuilderDemoted, the last thousand; numbers are used again in turn
//	relay.heard                which instance has tested last that it hears what is stored (hearing.go)
//	relay.restored             there if facts of versions without state were converted
const (
	stateKillSwitch = "relay.kill_switch"
	stateDelivered  = "relay.delivered"
	stateBuilder    = "relay.builder"
	stateDemotion   = "relay.demotion"
	stateHeard      = "relay.heard"
	stateRestored   = "relay.restored"
)

// keptDemotions is how many demotions are kept as state: as many as builders.List keeps.
const keptDemotions = 1000

// putRetry is the pause after the journal could not store state (wall time).
const putRetry = 250 * time.Millisecond

// states stores the last state of each subject. StoreState returns when it is stored, with its
// number in the order of all state. After an error it may be stored or not.
type states interface {
	StoreState(ctx context.Context, subject string, data []byte) (seq uint64, err error)
}

// state stores what the relay must know after a restart. It listens to facts; one goroutine writes
// the newest fact of each subject, and tries again until it is stored.
type state struct {
	journal states
	encoder factEncoder
	log     *slog.Logger

	mu        sync.Mutex // guards what follows
	order     []string   // subjects of waiting facts, each once
	waiting   map[string]relay.Fact
	writing   map[string]relay.Fact // taken out of waiting, and not known to be stored
	stored    map[string]uint64     // number of the last change of this instance, by subject
	own       map[string]demotion   // demotions of this instance, by subject
	delivered phase0.Slot           // the newest slot
	demotions int                   // number of the next demotion, not reduced to the numbers in use
	taken     uint64                // number of changes that came
	kept      uint64                // number of changes that are stored, or replaced by one that is
	changed   chan struct{}         // closed and made anew when kept grows
	closed    bool

	wake chan struct{} // holds one signal
	stop context.CancelFunc
	done chan struct{}
}

// newState starts the writing; Close ends it.
func newState(to states, encoder factEncoder, log *slog.Logger) *state {
	ctx, stop := context.WithCancel(context.Background())
	s := &state{
		journal: to, encoder: encoder, log: log, waiting: map[string]relay.Fact{}, stored: map[string]uint64{},
		own: map[string]demotion{}, changed: make(chan struct{}), wake: make(chan struct{}, 1), stop: stop,
		done: make(chan struct{}),
	}
	go s.write(ctx)
	return s
}

// Record implements relay.Facts. Most facts change no state.
func (s *state) Record(fact relay.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subject := s.subject(fact)
	if subject == "" || s.closed {
		return
	}
	if s.waiting[subject] == nil {
		s.order = append(s.order, subject)
	}
	s.waiting[subject] = fact
	s.taken++
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// subject returns the subject under which a fact is stored as state; empty for a fact that changes
// none. The caller holds mu.
func (s *state) subject(fact relay.Fact) string {
	switch f := fact.(type) {
	case relay.KillSwitchChanged:
		return stateKillSwitch
	case relay.PayloadDelivered:
		if f.Slot < s.delivered {
			return ""
		}
		s.delivered = f.Slot
		return stateDelivered
	case relay.BuilderChanged:
		return stateBuilder + "." + journal.Token(f.Builder.Name)
	case relay.BuilderDemoted:
		subject := stateDemotion + "." + strconv.Itoa(s.demotions%keptDemotions)
		s.own[subject] = demotion{f, s.demotions}
		s.demotions++
		return subject
	}
	return ""
}

// noteDemotionNumber notes the number of a restored demotion: the next demotion gets the number
// after it.
func (s *state) noteDemotionNumber(number string) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demotions = n + 1
}

// Kept returns when all changes that came before the call are stored, or with the context's error.
func (s *state) Kept(ctx context.Context) error {
	s.mu.Lock()
	want := s.taken
	for s.kept < want {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until state is kept: %w", ctx.Err())
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	return nil
}

// Close writes the facts that wait, until the context ends, and ends the writing.
func (s *state) Close(ctx context.Context) error {
	err := s.Kept(ctx)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	<-s.done
	return err
}

func (s *state) write(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for s.writeAll(ctx) != nil {
			retry := time.NewTimer(putRetry)
			select {
			case <-ctx.Done():
				retry.Stop()
				return
			case <-retry.C:
			}
		}
	}
}

// writeAll stores the facts that wait. A fact that could not be stored waits again, unless a newer
// one of its subject has come.
func (s *state) writeAll(ctx context.Context) error {
	s.mu.Lock()
	order, waiting, taken := s.order, s.waiting, s.taken
	s.order, s.waiting, s.writing = nil, map[string]relay.Fact{}, waiting
	s.mu.Unlock()
	for i, subject := range order {
		if err := s.put(ctx, subject, waiting[subject]); err != nil {
			s.log.Error("state is not kept yet, and would be lost by a restart now", "subject", subject, "error", err)
			s.putBack(order[i:], waiting)
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.writing = taken, nil
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *state) put(ctx context.Context, subject string, fact relay.Fact) error {
	data, err := s.encoder.encode(fact)
	if err != nil {
		s.log.Error("state cannot be encoded", "subject", subject, "error", err)
		return nil
	}
	seq, err := s.journal.StoreState(ctx, subject, data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[subject] = seq
	return nil
}

// putBack makes subjects wait again, in front of those that came meanwhile.
func (s *state) putBack(order []string, waiting map[string]relay.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var back []string
	for _, subject := range order {
		if s.waiting[subject] == nil {
			s.waiting[subject] = waiting[subject]
			back = append(back, subject)
		}
	}
	s.order, s.writing = append(back, s.order...), nil
}
