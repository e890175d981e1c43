package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/inclusion"
)

// What the service needs to go on where it was, whatever facts the journal has forgotten: where
// refunds go, and which are owed.
const (
	recipientState = subjectPrefix + "recipient" // .<address>: RecipientSet
	owedState      = subjectPrefix + "owed"      // facts that make the refunds anew, in pages
)

// refundState keeps that beside the facts, in the journal's own stream for it.
type refundState struct {
	journal *journal.Journal
	indexer *inclusion.Indexer
	// stale has a token when refunds have changed since they were kept.
	stale chan struct{}

	restored map[common.Address]common.Address // recipients that were state at the start

	recipients sync.Mutex // held while one is kept, so that the newest is kept last

	changed atomic.Uint64 // counts changes of what is owed
	mu      sync.Mutex    // guards list and kept, and is held while it is kept
	list    paged
	kept    uint64 // as changed was
}

func newRefundState(j *journal.Journal) *refundState {
	return &refundState{journal: j, stale: make(chan struct{}, 1), restored: map[common.Address]common.Address{},
		list: newPaged(j, owedState)}
}

// recipientKeeper has recipients kept as state, too, before they are answered.
type recipientKeeper struct {
	*facts
	state *refundState
}

// Keep implements rpc.Keeper.
func (k recipientKeeper) Keep(list ...rpc.Fact) (kept func() error) {
	wait := k.facts.Keep(list...)
	return func() error {
		if err := wait(); err != nil {
			return err
		}
		for _, fact := range list {
			set, ok := fact.(rpc.RecipientSet)
			if !ok {
				continue
			}
			if err := k.state.keepRecipient(set); err != nil {
				k.log.Error("a recipient of refunds was not kept as state", "error", err)
				return rpc.JournalUnavailable.Plain()
			}
		}
		return nil
	}
}

// keepRecipient keeps what holds for an address now: a later wish, if there is one already.
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
	return s.journal.PutState(ctx, recipientState+"."+set.From.Hex(), data)
}

// observe notes what has changed.
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

// named is a fact with its name.
type named struct {
	Subject string          `json:"subject"`
	Fact    json.RawMessage `json:"fact"`
}

// keepOwed keeps what is owed now, unless nothing has changed.
func (s *refundState) keepOwed(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed.Load()
	if changed == s.kept {
		return nil
	}
	owed := s.indexer.Owed()
	err := s.list.put(ctx, struct{}{}, func(yield func([]byte, error) bool) {
		for _, fact := range owed {
			data, err := json.Marshal(fact)
			if !yield(item(subjectPrefix+fact.Subject(), data), err) {
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

// keepState keeps what is owed whenever it has changed, until the context ends, and then once more.
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

// takeOver keeps as state what only facts say: those of a version that kept no state, or of a life
// that was killed between the two.
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

// restore tells what was kept.
func (s *refundState) restore(ctx context.Context, remember func(rpc.Fact)) error {
	err := s.journal.States(ctx, recipientState, func(_ time.Time, subject string, data []byte) error {
		var set rpc.RecipientSet
		if err := json.Unmarshal(data, &set); err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		remember(set)
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
