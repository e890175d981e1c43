package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// restore applies what happened in earlier runs: what is stored as state, then the facts after the
// snapshot.
func (a *App) restore(ctx context.Context) error {
	if err := a.refunds.restore(ctx, func(fact, kept rpc.Fact) {
		a.indexer.Apply(fact)
		a.refunds.later.remember(kept)
	}); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	sequence, err := a.snapshots.restore(ctx, func(fact rpc.Fact) {
		a.lifecycle.Apply(fact)
		a.indexer.Apply(fact)
	}, a.reputation.Restore)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	from, err := a.snapshots.checkSequence(ctx, sequence)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	// A cluster's stream may have been configured by somebody else, so its age limit is checked
	// too.
	if err := a.cfg.keepsLongEnough(a.snapshots.bounds.MaxAge); err != nil {
		return err
	}
	subjects := slices.Sorted(maps.Keys(decoders))
	recipients := map[common.Address]rpc.RecipientSet{}
	err = a.journal.Past(ctx, from, subjects, func(_ time.Time, subject string, data []byte) error {
		if err := decodeFacts(subject, data, func(fact, kept rpc.Fact) {
			if set, ok := fact.(rpc.RecipientSet); ok {
				recipients[set.From] = set
			}
			a.remember(fact, kept)
		}); err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := a.refunds.takeOver(ctx, recipients); err != nil {
		return fmt.Errorf("keep what facts say as state: %w", err)
	}
	if a.snapshots.crowded || sequence == 0 && a.snapshots.count > 0 { // from a version that took no snapshots
		if err := a.snapshots.take(ctx); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	return a.journal.Bound(ctx)
}

func (a *App) remember(fact, kept rpc.Fact) {
	a.lifecycle.Apply(fact)
	a.indexer.Apply(fact)
	a.reputation.Apply(fact)
	a.refunds.later.remember(kept)
	a.snapshots.apply(fact, kept)
}
