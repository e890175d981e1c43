package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/inclusion"
)

// What a start needs even if the journal has forgotten the facts about it: where refunds go, and
// which are owed.
const (
	recipientState = subjectPrefix + "recipient" // .<address>: RecipientSet
	owedState      = subjectPrefix + "owed"      // facts from which the refunds can be made again, in pages
)

// refundState stores that besides the facts, in the journal's stream for state.
type refundState struct {
	journal *journal.Journal
	state   stateStore
	indexer *inclusion.Indexer
	// stale has a token when refunds have changed since they were stored.
	stale chan struct{}

	restored map[common.Address]common.Address // recipients that were stored as state at the start
	later    laterRefunds

	recipients sync.Mutex // held while a recipient is stored, so that the newest one is stored last

	changed atomic.Uint64 // counts changes of what is owed
	mu      sync.Mutex    // guards list and kept, and is held while the list is stored
	list    paged
	kept    uint64 // the value of changed when the list was stored
}

func newRefundState(j *journal.Journal, state stateStore, indexer *inclusion.Indexer) *refundState {
	return &refundState{journal: j, indexer: indexer, stale: make(chan struct{}, 1),
		restored: map[common.Address]common.Address{},
		state:    state, list: newPaged(state, owedState)}
}

// receivers also stores recipients as state before a request is answered.
type receivers struct {
	*inclusion.Indexer
	state *refundState
	log   *slog.Logger
}

// SetRecipient implements method.Receivers.
func (r receivers) SetRecipient(at time.Time, from, to common.Address) error {
	if err := r.Indexer.SetRecipient(at, from, to); err != nil {
		return err
	}
	if err := r.state.keepRecipient(rpc.RecipientSet{At: at, From: from, To: to}); err != nil {
		r.log.Error("a recipient of refunds was not kept as state", "error", err)
		return rpc.JournalUnavailable.Plain()
	}
	return nil
}

// keepRecipient stores the recipient that is valid now for an address, even if that was set after
// set.
func (s *refundState) keepRecipient(set rpc.RecipientSet) error {
	s.recipients.Lock()
	defer s.recipients.Unlock()
	set.To = s.indexer.Recipient(set.From)
	data, err := json.Marshal(set)
	if err != nil {
		return fmt.Errorf("encode a recipient: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), ackPatience)
	defer cancel()
	return s.state.PutState(ctx, recipientState+"."+set.From.Hex(), data)
}

// observe notes that what is owed has changed.
func (s *refundState) observe(fact rpc.Fact) {
	switch fact.(type) {
	case rpc.RefundCredited, rpc.RefundPaid, rpc.BlockReverted:
		s.changed.Add(1)
		select {
		case s.stale <- struct{}{}:
		default:
		}
	}
}

// named is a fact with its subject.
type named struct {
	Subject string          `json:"subject"`
	Fact    json.RawMessage `json:"fact"`
}

// keepOwed stores what is owed now, unless nothing has changed.
func (s *refundState) keepOwed(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed.Load()
	if changed == s.kept {
		return nil
	}
	owed := s.later.wordsOf(s.indexer.Owed())
	err := s.list.put(ctx, struct{}{}, func(yield func([]byte, error) bool) {
		for _, fact := range owed {
			data, err := json.Marshal(fact)
			if !yield(appendItem(nil, subjectPrefix+fact.Subject(), data), err) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("keep what is owed: %w", err)
	}
	s.kept = changed
	return nil
}

// keepState stores what is owed whenever it has changed, until the context ends, and then once
// more.
func (a *App) keepState(ctx context.Context) error {
	for {
		var ended bool
		select {
		case <-a.refunds.stale:
		case <-ctx.Done():
			ended = true
		}
		timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackPatience)
		err := a.refunds.keepOwed(timed)
		cancel()
		if err != nil {
			a.cfg.Log.Error("refunds that are owed were not kept as state; the facts have them", "error", err)
		}
		if ended {
			return nil
		}
	}
}

// takeOver stores as state what only the facts say: those of a version that stored no state, and
// those of a run that was killed between writing the fact and storing the state.
func (s *refundState) takeOver(ctx context.Context, recipients map[common.Address]rpc.RecipientSet) error {
	for from, set := range recipients {
		if to, ok := s.restored[from]; ok && to == s.indexer.Recipient(from) {
			continue
		}
		if err := s.keepRecipient(set); err != nil {
			return err
		}
	}
	s.changed.Add(1)
	return s.keepOwed(ctx)
}

// restore calls remember with what was stored.
func (s *refundState) restore(ctx context.Context, remember func(fact, kept rpc.Fact)) error {
	err := s.journal.States(ctx, recipientState, func(_ time.Time, subject string, data []byte) error {
		var set rpc.RecipientSet
		if err := json.Unmarshal(data, &set); err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		remember(set, set)
		s.restored[set.From] = set.To
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.list.read(ctx, nil, func(item []byte) error {
		var n named
		if err := json.Unmarshal(item, &n); err != nil {
			return err
		}
		return decodeFacts(n.Subject, n.Fact, remember)
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what is owed: %w", err)
	}
	return nil
}
