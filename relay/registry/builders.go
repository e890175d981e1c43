package registry

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

// Builders holds how the operator treats each builder: whether it is blocked, has priority, or may
// bid before its block is executed. Submissions read the records without a lock. A record that was
// changed at run time overrides the configuration until it is removed, because a demotion must
// outlive a restart. It is safe for concurrent use.
type Builders struct {
	facts relay.Facts
	index atomic.Pointer[builderIndex] // read without a lock; never changed, only replaced

	mu         sync.Mutex // guards all below, and the order of changes
	configured map[string]relay.Builder
	changed    map[string]relay.Builder // at run time, in this run or an earlier one
	demotions  []relay.BuilderDemoted   // the oldest first
}

// builderIndex finds all records by name, public key and hash of the API key.
type builderIndex struct {
	byName map[string]relay.Builder
	byKey  map[phase0.BLSPubKey]string
	byHash map[phase0.Hash32]string
}

// ErrUnknownBuilder means that no builder has the name.
var ErrUnknownBuilder = errors.New("no builder of that name")

// NewBuilders returns a list of the configured builders. The error names what is wrong with one of
// them.
func NewBuilders(configured []relay.Builder, facts relay.Facts) (*Builders, error) {
	l := &Builders{facts: facts, configured: map[string]relay.Builder{}, changed: map[string]relay.Builder{}}
	for _, b := range configured {
		if _, twice := l.configured[b.Name]; twice {
			return nil, fmt.Errorf("builder %q is listed twice", b.Name)
		}
		l.configured[b.Name] = b
	}
	next, err := indexBuilders(l.configured)
	if err != nil {
		return nil, err
	}
	l.index.Store(next)
	return l, nil
}

var validBuilderName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// checkBuilder verifies that a record can be used: its name, its public keys, and a collateral for
// the optimistic mode.
func checkBuilder(b relay.Builder) error {
	if !validBuilderName.MatchString(b.Name) {
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

// indexBuilders checks each record, and that no two share a key, and indexes them.
func indexBuilders(records map[string]relay.Builder) (*builderIndex, error) {
	v := &builderIndex{byName: maps.Clone(records), byKey: map[phase0.BLSPubKey]string{},
		byHash: map[phase0.Hash32]string{}}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		b := records[name]
		if err := checkBuilder(b); err != nil {
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

// Of returns how a builder is treated; the zero value for one that the operator has not listed.
func (l *Builders) Of(pubkey phase0.BLSPubKey) relay.Builder {
	v := l.index.Load()
	name, listed := v.byKey[pubkey]
	if !listed {
		return relay.Builder{}
	}
	return v.byName[name]
}

// ByKey returns the builder that has an API key. Keys are compared by their hashes, so the time
// that this takes reveals nothing about them.
func (l *Builders) ByKey(apiKey string) (relay.Builder, bool) {
	v := l.index.Load()
	name, known := v.byHash[sha256.Sum256([]byte(apiKey))]
	return v.byName[name], known
}

// Named returns the record of a name.
func (l *Builders) Named(name string) (relay.Builder, bool) {
	b, known := l.index.Load().byName[name]
	return b, known
}

// All returns the records, sorted by name.
func (l *Builders) All() []relay.Builder {
	return slices.SortedFunc(maps.Values(l.index.Load().byName), func(a, b relay.Builder) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// Set replaces a builder's record, or adds one.
func (l *Builders) Set(at time.Time, b relay.Builder, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(at, b, why)
}

// set changes the records and records the fact. The caller holds mu.
func (l *Builders) set(at time.Time, b relay.Builder, why string) error {
	changed := maps.Clone(l.changed)
	changed[b.Name] = b
	if err := l.replace(changed); err != nil {
		return err
	}
	l.facts.Record(relay.BuilderChanged{At: at, Builder: b, Why: why})
	return nil
}

// replace replaces the records that were changed at run time, if they are valid together with the
// configuration. The caller holds mu.
func (l *Builders) replace(changed map[string]relay.Builder) error {
	records := maps.Clone(l.configured)
	maps.Copy(records, changed)
	next, err := indexBuilders(records)
	if err != nil {
		return err
	}
	l.changed = changed
	l.index.Store(next)
	return nil
}

// Remove forgets what was changed at run time: the builder is treated as the configuration says, or
// as one that is not listed.
func (l *Builders) Remove(at time.Time, name, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.changed[name]
	if !known {
		return ErrUnknownBuilder
	}
	changed := maps.Clone(l.changed)
	delete(changed, name)
	if err := l.replace(changed); err != nil {
		return err
	}
	l.facts.Record(relay.BuilderChanged{At: at, Builder: b, Removed: true, Why: why})
	return nil
}

// Restore applies a fact of an earlier run, without recording it again. An error means that the
// record does not fit the present configuration; then the builder is treated as the configuration
// says.
func (l *Builders) Restore(fact relay.Fact) error {
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

// Adopt applies a record that another instance has stored, without recording it again, if counts
// says so. counts is called under the lock under which changes of this instance are recorded. It
// returns the record before; applied is false if counts said no. An error means that the record
// does not fit the configuration of this instance; then only the optimistic mode ends, if the
// record says that.
func (l *Builders) Adopt(change relay.BuilderChanged, counts func() bool) (before relay.Builder, applied bool,
	err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !counts() {
		return relay.Builder{}, false, nil
	}
	name := change.Builder.Name
	before, listed := l.index.Load().byName[name]
	changed := maps.Clone(l.changed)
	if changed[name] = change.Builder; change.Removed {
		delete(changed, name)
	}
	if err = l.replace(changed); err == nil || !listed || change.Removed || change.Builder.Optimistic {
		return before, true, err
	}
	distrusted := before
	distrusted.Optimistic = false
	changed[name] = distrusted
	return before, true, errors.Join(err, l.replace(changed))
}

// Overridden returns the names of configured builders whose records were changed at run time.
func (l *Builders) Overridden() []string {
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
