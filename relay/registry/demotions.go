package registry

import (
	"fmt"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// rememberedDemotions is how many demotions are kept in memory; the journal has them all.
const rememberedDemotions = 1000

// Demote ends a builder's optimistic mode and keeps the reason. If the builder is demoted already,
// the further reason is kept too.
func (l *Builders) Demote(at time.Time, name string, reason relay.Demotion) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.index.Load().byName[name]
	if !known {
		return fmt.Errorf("demote %q: %w", name, ErrUnknownBuilder)
	}
	demoted := relay.BuilderDemoted{At: at, Name: name, Demotion: reason}
	l.remember(demoted)
	l.facts.Record(demoted)
	if !b.Optimistic {
		return nil
	}
	b.Optimistic = false
	return l.set(at, b, "demoted: "+reason.Rule)
}

func (l *Builders) remember(d relay.BuilderDemoted) {
	l.demotions = append(l.demotions, d)
	if len(l.demotions) > rememberedDemotions {
		l.demotions = slices.Delete(l.demotions, 0, len(l.demotions)-rememberedDemotions)
	}
}

// Promote gives a builder the optimistic mode, up to the collateral of its record.
func (l *Builders) Promote(at time.Time, name, why string) error {
	return l.optimistic(at, name, true, "promoted: "+why)
}

// Suspend ends a builder's optimistic mode because the operator wants it, without a demotion.
func (l *Builders) Suspend(at time.Time, name, why string) error {
	return l.optimistic(at, name, false, "suspended: "+why)
}

func (l *Builders) optimistic(at time.Time, name string, on bool, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.index.Load().byName[name]
	if !known {
		return ErrUnknownBuilder
	}
	b.Optimistic = on
	return l.set(at, b, why)
}

// Demotions returns the last demotions, the newest first.
func (l *Builders) Demotions() []relay.BuilderDemoted {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.demotions)
	slices.Reverse(list)
	return list
}

// AdoptDemotion adds a demotion that another instance has recorded to the list. It returns false if
// that is there already.
func (l *Builders) AdoptDemotion(demoted relay.BuilderDemoted) (added bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.demotions {
		if d.At.Equal(demoted.At) && d.Name == demoted.Name && d.Rule == demoted.Rule && d.BlockHash == demoted.BlockHash {
			return false
		}
	}
	l.remember(demoted)
	return true
}
