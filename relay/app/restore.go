package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// restore puts back what earlier runs have recorded: how builders are treated, whether headers are
// served, which slots are over, registrations, and the headers that were served lately.
func (a *App) restore(ctx context.Context) error {
	if err := a.restoreState(ctx); err != nil {
		return fmt.Errorf("restore state: %w", err)
	}
	if names := a.builders.Overridden(); len(names) > 0 {
		a.log.Warn("builders are treated otherwise than configured, since a change at run time: DELETE them by the admin "+
			"API to undo it", "builders", names)
	}
	if err := a.restoreRegistrations(ctx); err != nil {
		return fmt.Errorf("restore registrations: %w", err)
	}
	if err := a.restoreServed(ctx); err != nil {
		return fmt.Errorf("restore served headers: %w", err)
	}
	return nil
}

// restoreServed reads which headers proposers were given lately, so that a delivery is listed at
// the value that its proposer was promised. It reads the last epoch, which is longer than a
// proposer may still sign for, unless no slot of it had a block. The next head clears the slots
// that are over.
func (a *App) restoreServed(ctx context.Context) error {
	epoch := time.Duration(a.spec.SlotsPerEpoch) * a.spec.SlotDuration
	subject := subjectPrefix + relay.HeaderServed{}.Subject()
	return a.journal.PastSince(ctx, time.Now().Add(-epoch), []string{subject},
		func(_ time.Time, _ string, data []byte) error {
			served, err := decodeFact[relay.HeaderServed](data)
			switch {
			case err != nil:
				a.log.Error("a served header cannot be read: if it is signed now, the value of the message that brought its "+
					"block is listed", "error", err)
			case served.Times == 0 && served.ValueWei != nil: // a sum has nothing new: the first answer is a fact before it
				a.topBid.NoteServed(served)
			}
			return nil
		})
}

// restoreState applies the kept state, in the order in which it was written. An earlier version
// kept no state: its journal's facts are converted to state once, and only then the number of its
// facts is bounded.
func (a *App) restoreState(ctx context.Context) error {
	_, err := a.journal.State(ctx, stateRestored)
	if errors.Is(err, journal.ErrNotFound) {
		return a.takeOver(ctx)
	}
	if err != nil {
		return err
	}
	return a.journal.States(ctx, "relay", func(_ time.Time, subject string, data []byte) error {
		a.restoreOne(subject, data)
		return nil
	})
}

// restoreOne applies one piece of state. If a piece cannot be read, the relay starts all the same
// and takes the safe side for that piece.
func (a *App) restoreOne(subject string, data []byte) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(subject, subjectPrefix), ".")
	switch subjectPrefix + kind {
	case stateKillSwitch:
		change, err := decodeFact[relay.KillSwitchChanged](data)
		if err != nil {
			a.log.Error("the kill switch cannot be read and is on: turn it off by the admin API to serve headers", "error", err)
			change.On = true
		}
		a.restoreKillSwitch(change)
	case stateDelivered:
		delivered, err := decodeFact[relay.PayloadDelivered](data)
		if err != nil {
			a.log.Error("the last delivery cannot be read: until the next one, submissions for its slot are not refused for it",
				"error", err)
			return
		}
		a.slots.MarkDelivered(delivered.Slot, delivered.BlockHash)
	case stateBuilder:
		change, err := decodeFact[relay.BuilderChanged](data)
		if err != nil {
			a.endTrust(name, err)
			return
		}
		a.restoreBuilder(change)
	case stateDemotion:
		a.state.noteDemotionNumber(name)
		demoted, err := decodeFact[relay.BuilderDemoted](data)
		if err != nil {
			a.log.Error("a demotion cannot be read and is not listed: nothing else depends on it", "error", err)
			return
		}
		a.restoreBuilder(demoted)
	}
}

// endTrust ends a builder's optimistic mode, because its record cannot be read.
func (a *App) endTrust(token string, err error) {
	name, _ := url.QueryUnescape(token)
	a.log.Error("how a builder is treated cannot be read: it is not trusted until its record is set, or deleted, by "+
		"the admin API", "builder", name, "error", err)
	if b, listed := a.builders.Named(name); listed && b.Optimistic {
		b.Optimistic = false
		a.restoreBuilder(relay.BuilderChanged{Builder: b})
	}
}

// restoreBuilder applies a fact about a builder. A record that no longer fits the configuration is
// left out, and the relay starts all the same.
func (a *App) restoreBuilder(fact relay.Fact) {
	if err := a.builders.Restore(fact); err != nil {
		a.log.Warn("a builder is treated as configured, since its record does not fit the configuration", "error", err)
	}
}

func (a *App) restoreKillSwitch(change relay.KillSwitchChanged) {
	if change.On {
		a.killed.restore(true)
		a.watched.metrics.KillSwitch(true)
		a.log.Warn("the kill switch is on: no headers are served", "since", change.At, "why", change.Why)
	}
}

// takeOver makes state from the facts of a version that kept no state, and stores it.
func (a *App) takeOver(ctx context.Context) error {
	subjects := []string{
		subjectPrefix + relay.BuilderChanged{}.Subject(), subjectPrefix + relay.BuilderDemoted{}.Subject(),
		subjectPrefix + relay.KillSwitchChanged{}.Subject(),
	}
	err := a.journal.Past(ctx, 1, subjects, func(_ time.Time, subject string, data []byte) error {
		switch subject {
		case subjects[0]:
			takeOver(a, data, func(changed relay.BuilderChanged) { a.restoreBuilder(changed) })
		case subjects[1]:
			takeOver(a, data, func(demoted relay.BuilderDemoted) { a.restoreBuilder(demoted) })
		default:
			takeOver(a, data, func(change relay.KillSwitchChanged) {
				a.killed.restore(change.On)
				a.watched.metrics.KillSwitch(change.On)
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	delivered, err := a.journal.LastOf(ctx, subjectPrefix+relay.PayloadDelivered{}.Subject())
	if err == nil {
		takeOver(a, delivered, func(delivered relay.PayloadDelivered) {
			a.slots.MarkDelivered(delivered.Slot, delivered.BlockHash)
		})
	} else if !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	if err := a.state.Kept(ctx); err != nil {
		return err
	}
	if err := a.journal.PutState(ctx, stateRestored, []byte("{}")); err != nil {
		return err
	}
	return a.journal.Bound(ctx)
}

// takeOver applies one old fact and stores it as state.
func takeOver[F relay.Fact](a *App, data []byte, fold func(F)) {
	fact, err := decodeFact[F](data)
	if err != nil {
		a.log.Error("a fact of an earlier version cannot be read and is left out: look at builders and kill switch by the "+
			"admin API", "error", err)
		return
	}
	fold(fact)
	a.state.Record(fact)
}

// restoreRegistrations reads the registrations of the archive, and then from the journal those that
// the archive has not applied. If the archive does not answer, it reads the whole journal.
func (a *App) restoreRegistrations(ctx context.Context) error {
	from, err := a.restoreFromArchive(ctx)
	if err != nil {
		a.log.Warn("registrations are restored from the journal, since the archive does not answer", "error", err)
	}
	subject := subjectPrefix + relay.RegistrationStored{}.Subject()
	return a.journal.Past(ctx, from, []string{subject}, func(_ time.Time, _ string, data []byte) error {
		fact, err := decodeFact[relay.RegistrationStored](data)
		if err != nil {
			a.log.Error("a registration cannot be read and is left out until its validator registers again", "error", err)
			return nil
		}
		a.registry.Restore(slices.Values([]*relay.SignedRegistration{fact.Registration}))
		return nil
	})
}

// restoreFromArchive reads the archive's registrations. It returns from which fact on the journal
// has newer ones; if the archive fails, that is the first one.
func (a *App) restoreFromArchive(ctx context.Context) (from uint64, err error) {
	last, err := a.archive.Last(ctx) // read before the rows, so that facts in between are read twice and not missed
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

// decodeFact reads a fact.
func decodeFact[F relay.Fact](data []byte) (fact F, err error) {
	if err := json.Unmarshal(data, &fact); err != nil {
		var none F
		return none, fmt.Errorf("decode %s: %w", none.Subject(), err)
	}
	return fact, nil
}
