// Package builders knows how the operator treats each builder: who is blocked, who comes first, who
// may bid before its block is executed. All of it is memory, read without a lock on the way of a
// bid; every change is a fact, and the facts of earlier lives are folded in at start.
//
//	configuration ─┐                                  ┌─▶ Of(pubkey), ByKey(api key)   ◀── submit, api/builder
//	journal ─Restore┴─▶ records (the newest wins) ────┤
//	api/admin ──Set, Remove, Promote──▶ fact          └─▶ All, Demotions               ◀── api/admin
//	submit ──Demote──▶ fact, fact
//
// A record that was changed at run time stands above the configuration until it is removed: a
// demotion must outlive a restart.
package builders

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// remembered is how many demotions are listed; the journal has them all.
const remembered = 1000

// List is safe for concurrent use.
type List struct {
	facts relay.Facts
	view  atomic.Pointer[view] // what readers see; never changed, only replaced

	mu         sync.Mutex // guards all below, and the order of changes
	configured map[string]relay.Builder
	changed    map[string]relay.Builder // at run time, now or in an earlier life
	demotions  []relay.BuilderDemoted   // the oldest first
}

// view is all records by what they are looked up with.
type view struct {
	byName map[string]relay.Builder
	byKey  map[phase0.BLSPubKey]string
	byHash map[phase0.Hash32]string
}

// ErrUnknown says that no builder has the name.
var ErrUnknown = errors.New("no builder of that name")

// New takes the configured builders. It answers an error that names what is wrong with one of them.
func New(configured []relay.Builder, facts relay.Facts) (*List, error) {
	l := &List{facts: facts, configured: map[string]relay.Builder{}, changed: map[string]relay.Builder{}}
	for _, b := range configured {
		if _, twice := l.configured[b.Name]; twice {
			return nil, fmt.Errorf("builder %q is listed twice", b.Name)
		}
		l.configured[b.Name] = b
	}
	next, err := viewOf(l.configured)
	if err != nil {
		return nil, err
	}
	l.view.Store(next)
	return l, nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// check wants a record that can be used: a name, keys that are keys.
func check(b relay.Builder) error {
	if !validName.MatchString(b.Name) {
		return fmt.Errorf("builder name %.90q: want 1 to 64 letters, digits, dots, dashes or underscores", b.Name)
	}
	for _, key := range b.Pubkeys {
		if _, err := bls.ParsePublicKey(key); err != nil {
			return fmt.Errorf("builder %s: %w", b.Name, err)
		}
	}
	if b.Optimistic && (b.CollateralWei == nil || b.CollateralWei.IsZero()) {
		return fmt.Errorf("builder %s: the optimistic mode needs a collateral_wei above 0", b.Name)
	}
	return nil
}

// viewOf checks records, also against each other, and indexes them.
func viewOf(records map[string]relay.Builder) (*view, error) {
	v := &view{byName: maps.Clone(records), byKey: map[phase0.BLSPubKey]string{}, byHash: map[phase0.Hash32]string{}}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		b := records[name]
		if err := check(b); err != nil {
			return nil, err
		}
		for _, key := range b.Pubkeys {
			if other, taken := v.byKey[key]; taken && other != name {
				return nil, fmt.Errorf("builders %s and %s have the same public key %#x", other, name, key[:])
			}
			v.byKey[key] = name
		}
		if b.APIKeyHash != nil {
			if other, taken := v.byHash[*b.APIKeyHash]; taken {
				return nil, fmt.Errorf("builders %s and %s have the same API key", other, name)
			}
			v.byHash[*b.APIKeyHash] = name
		}
	}
	return v, nil
}

// Of is how a builder is treated; the zero value for one that nobody has listed.
func (l *List) Of(pubkey phase0.BLSPubKey) relay.Builder {
	v := l.view.Load()
	name, listed := v.byKey[pubkey]
	if !listed {
		return relay.Builder{}
	}
	return v.byName[name]
}

// ByKey is the builder that was given an API key. The key is compared by its hash, so that time
// tells nothing about it.
func (l *List) ByKey(apiKey string) (relay.Builder, bool) {
	v := l.view.Load()
	name, known := v.byHash[sha256.Sum256([]byte(apiKey))]
	return v.byName[name], known
}

// Named is the record of a name.
func (l *List) Named(name string) (relay.Builder, bool) {
	b, known := l.view.Load().byName[name]
	return b, known
}

// All are the records by name.
func (l *List) All() []relay.Builder {
	return slices.SortedFunc(maps.Values(l.view.Load().byName), func(a, b relay.Builder) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// Set replaces a builder's record, or adds one.
func (l *List) Set(at time.Time, b relay.Builder, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(at, b, why)
}

// set changes the records and tells the fact. The caller holds mu.
func (l *List) set(at time.Time, b relay.Builder, why string) error {
	changed := maps.Clone(l.changed)
	changed[b.Name] = b
	if err := l.replace(changed); err != nil {
		return err
	}
	l.facts.Record(relay.BuilderChanged{At: at, Builder: b, Why: why})
	return nil
}

// replace shows other run-time records, if they fit. The caller holds mu.
func (l *List) replace(changed map[string]relay.Builder) error {
	records := maps.Clone(l.configured)
	maps.Copy(records, changed)
	next, err := viewOf(records)
	if err != nil {
		return err
	}
	l.changed = changed
	l.view.Store(next)
	return nil
}

// Remove forgets what was changed at run time: the builder is treated as the configuration says, or
// as one that nobody has listed.
func (l *List) Remove(at time.Time, name, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.changed[name]
	if !known {
		return ErrUnknown
	}
	changed := maps.Clone(l.changed)
	delete(changed, name)
	if err := l.replace(changed); err != nil {
		return err
	}
	l.facts.Record(relay.BuilderChanged{At: at, Builder: b, Removed: true, Why: why})
	return nil
}

// Demote ends a builder's optimistic mode and keeps the reason. One that is demoted already gets
// the further reason on its list.
func (l *List) Demote(at time.Time, name string, reason relay.Demotion) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.view.Load().byName[name]
	if !known {
		return fmt.Errorf("demote %q: %w", name, ErrUnknown)
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

func (l *List) remember(d relay.BuilderDemoted) {
	l.demotions = append(l.demotions, d)
	if len(l.demotions) > remembered {
		l.demotions = slices.Delete(l.demotions, 0, len(l.demotions)-remembered)
	}
}

// Promote gives a builder the optimistic mode, up to the collateral of its record.
func (l *List) Promote(at time.Time, name, why string) error {
	return l.optimistic(at, name, true, "promoted: "+why)
}

// Suspend ends a builder's optimistic mode on the operator's word, without a demotion.
func (l *List) Suspend(at time.Time, name, why string) error {
	return l.optimistic(at, name, false, "suspended: "+why)
}

func (l *List) optimistic(at time.Time, name string, on bool, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.view.Load().byName[name]
	if !known {
		return ErrUnknown
	}
	b.Optimistic = on
	return l.set(at, b, why)
}

// Demotions are the newest demotions, the newest first.
func (l *List) Demotions() []relay.BuilderDemoted {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.demotions)
	slices.Reverse(list)
	return list
}

// Restore folds in a fact of an earlier life. It tells no fact. An error says that the record does
// not fit what is configured now; then the configuration stands for that builder.
func (l *List) Restore(fact relay.Fact) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f := fact.(type) {
	case relay.BuilderDemoted:
		l.remember(f)
	case relay.BuilderChanged:
		changed := maps.Clone(l.changed)
		if changed[f.Builder.Name] = f.Builder; f.Removed {
			delete(changed, f.Builder.Name)
		}
		return l.replace(changed)
	}
	return nil
}

// Overridden are the names of configured builders that are treated otherwise since a change at run
// time.
func (l *List) Overridden() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name := range l.changed {
		if _, configured := l.configured[name]; configured {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
