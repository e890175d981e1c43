package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// restore tells the rooms what happened in earlier lives of the process: how builders are treated, whether headers are served, and which slots
// are over.
func (a *App) restore(ctx context.Context) error {
	subjects := []string{subjectPrefix + relay.BuilderChanged{}.Subject(), subjectPrefix + relay.BuilderDemoted{}.Subject()}
	err := a.journal.Past(ctx, 1, subjects, func(_ time.Time, subject string, data []byte) error {
		if subject == subjects[0] {
			return restoreBuilder[relay.BuilderChanged](a, data)
		}
		return restoreBuilder[relay.BuilderDemoted](a, data)
	})
	if err != nil {
		return fmt.Errorf("restore builders: %w", err)
	}
	if names := a.builders.Overridden(); len(names) > 0 {
		a.log.Warn("builders are treated otherwise than configured, since a change at run time: DELETE them by the admin API to undo it", "builders", names)
	}
	if change, err := lastFact[relay.KillSwitchChanged](ctx, a.journal); err != nil {
		return fmt.Errorf("restore kill switch: %w", err)
	} else if change != nil && change.On {
		a.killed.restore(true)
		a.watched.metrics.KillSwitch(true)
		a.log.Warn("the kill switch is on: no headers are served", "since", change.At, "why", change.Why)
	}
	if err := a.restoreRegistrations(ctx); err != nil {
		return fmt.Errorf("restore registrations: %w", err)
	}
	delivered, err := lastFact[relay.PayloadDelivered](ctx, a.journal)
	if err != nil {
		return fmt.Errorf("restore deliveries: %w", err)
	}
	if delivered != nil {
		a.deliver.Restore(*delivered)
	}
	return nil
}

// restoreRegistrations reads what validators asked for: from the archive, then from the journal what the archive has not seen. Without the
// archive the journal alone must do.
func (a *App) restoreRegistrations(ctx context.Context) error {
	from, err := a.restoreFromArchive(ctx)
	if err != nil {
		a.log.Warn("registrations are restored from the journal, since the archive does not answer", "error", err)
	}
	subject := subjectPrefix + relay.RegistrationStored{}.Subject()
	return a.journal.Past(ctx, from, []string{subject}, func(_ time.Time, _ string, data []byte) error {
		var fact relay.RegistrationStored
		if err := json.Unmarshal(data, &fact); err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		a.registry.Restore(slices.Values([]*relay.SignedRegistration{fact.Registration}))
		return nil
	})
}

// restoreFromArchive reads the archive's registrations and says from which fact on the journal has newer ones: all, if the archive fails.
func (a *App) restoreFromArchive(ctx context.Context) (from uint64, err error) {
	last, err := a.archive.Last(ctx) // before the rows: what comes in between is read twice, and not at all otherwise
	if err != nil {
		return 1, err
	}
	a.registry.Restore(func(yield func(*relay.SignedRegistration) bool) {
		for registration, failed := range a.archive.Registrations(ctx) {
			if err = failed; err != nil || !yield(registration) {
				return
			}
		}
	})
	if err != nil {
		return 1, err
	}
	return last + 1, nil
}

// restoreBuilder folds in one fact. A record that no longer fits the configuration is left out: the relay starts all the same.
func restoreBuilder[F relay.Fact](a *App, data []byte) error {
	var fact F
	if err := json.Unmarshal(data, &fact); err != nil {
		return fmt.Errorf("decode %s: %w", fact.Subject(), err)
	}
	if err := a.builders.Restore(fact); err != nil {
		a.log.Warn("a builder is treated as configured, since its record does not fit the configuration", "error", err)
	}
	return nil
}

// lastFact is the newest fact of a kind, nil when there is none.
func lastFact[F relay.Fact](ctx context.Context, j *journal.Journal) (*F, error) {
	var fact F
	raw, err := j.LastOf(ctx, subjectPrefix+fact.Subject())
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil //nolint:nilnil // never happened
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &fact); err != nil {
		return nil, fmt.Errorf("decode %s: %w", fact.Subject(), err)
	}
	return &fact, nil
}
