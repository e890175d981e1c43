package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/slots"
)

// probes test the parts that a delivery needs, with the calls that a delivery makes. A test is not
// called again before it has returned.
type probes struct {
	journal  *journal.Journal
	now      func() time.Time
	instance string     // names this process: others that share the journal have other keys
	others   *instances // nil if the journal is in this process
	network  string     // as the subjects of the auction log have it
	keyFor   time.Duration

	claimed time.Time // when the guard was last given a new key; zero after a failure
	keys    int
}

// probePayload is the size of what the probe puts into the escrow, in bytes. It is large enough not
// to fit by chance into the rest of a file system that is full.
const probePayload = 64 << 10

// How long the guard is asked for one key before it is given a new one (wall time). The embedded
// guard forgets its oldest claims, so it can be given a new key with nearly every test. A cluster
// keeps all claims for ever; with one key an hour these are less than 1 MB in a year.
const (
	keyInEmbedded = 10 * time.Second
	keyInCluster  = time.Hour
)

// newProbe returns the probe of guard, escrow and journal. Between new keys the guard is asked for
// the key that it has. This reaches the guard as a claim does, but writes nothing; the journal's
// test writes in the same cluster.
func (a *App) newProbe() *deliver.Probe {
	p := &probes{
		journal: a.journal, now: a.cfg.Clock.Now, instance: cmp.Or(a.instance, rand.Text()[:12]), others: a.others,
		network: networkName(a.spec), keyFor: keyInEmbedded,
	}
	if a.cfg.Journal.URL != "" {
		p.keyFor = keyInCluster
	}
	tests := map[string]func(context.Context) error{"guard": p.guard, "escrow": p.escrow, "journal": p.append}
	var parts []deliver.Part
	for _, name := range relay.DeliveryParts {
		parts = append(parts, deliver.Part{Name: name, Test: tests[name]})
	}
	return deliver.NewProbe(a.cfg.Clock, a.spec, a.facts, a.log, parts...)
}

// guard claims the present key of this process.
func (p *probes) guard(ctx context.Context) error {
	if p.claimed.IsZero() || time.Since(p.claimed) > p.keyFor {
		p.keys++
		p.claimed = time.Now()
	}
	value := []byte(p.instance)
	standing, won, err := p.journal.Claim(ctx, "probe-"+p.instance+"-"+strconv.Itoa(p.keys), value)
	if err == nil && (!won || !bytes.Equal(standing, value)) {
		err = errors.New("it has forgotten what it was told")
	}
	if err != nil {
		p.claimed = time.Time{} // the next test must write a new key
	}
	return err
}

// escrow puts a value and reads it back.
func (p *probes) escrow(ctx context.Context) error {
	value := make([]byte, probePayload)
	if _, err := rand.Read(value); err != nil {
		return err
	}
	key := "probe." + p.instance
	if err := p.journal.Put(ctx, key, value); err != nil {
		return err
	}
	kept, err := p.journal.Get(ctx, key)
	if err == nil && !bytes.Equal(kept, value) {
		err = errors.New("it answers something else than was put into it")
	}
	return err
}

// append appends a fact and waits until the journal has stored it. In a cluster it also stores
// state and appends to the auction log, and waits until this instance has heard all: what others
// have written before it has heard then, too.
func (p *probes) append(ctx context.Context) error {
	data, err := json.Marshal(probed{p.now(), p.instance})
	if err != nil {
		return err
	}
	fact, err := p.journal.Append(ctx, testedSubject, data)
	if err != nil || p.others == nil {
		return err
	}
	state, err := p.journal.StoreState(ctx, stateHeard, data)
	if err != nil {
		return err
	}
	auction, err := p.journal.AppendAuction(ctx, p.network+"."+testedAuction, data)
	if err != nil {
		return err
	}
	if err := p.others.facts.wait(ctx, fact); err != nil {
		return err
	}
	if err := p.others.auctions.wait(ctx, auction); err != nil {
		return err
	}
	return p.others.states.wait(ctx, state)
}

// testedSubject is the subject of the facts with which the journal is tested.
const testedSubject = subjectPrefix + "delivery_path_tested"

// testedAuction is, in place of a slot, the subject of the entries with which the auction log is
// tested.
const testedAuction = "tested"

// probed is a fact that no projection reads. It shows when a relay ran and its journal could be
// written.
type probed struct {
	At       time.Time `json:"at"`
	Instance string    `json:"instance"`
}

// suspectedGuard is the guard. An error of it starts a test of the parts of a delivery.
type suspectedGuard struct {
	deliver.Guard
	probe *deliver.Probe
}

// Claim implements deliver.Guard.
func (g suspectedGuard) Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	won, err := g.Guard.Claim(ctx, slot, root)
	suspect(ctx, g.probe, err)
	return won, err
}

// suspectedEscrow is the escrow. An error of it starts a test of the parts of a delivery.
type suspectedEscrow struct {
	slots.Store
	probe *deliver.Probe
}

// Put implements relay.Escrow.
func (e suspectedEscrow) Put(ctx context.Context, contents *relay.Contents) error {
	err := e.Store.Put(ctx, contents)
	suspect(ctx, e.probe, err)
	return err
}

// Get implements relay.Escrow.
func (e suspectedEscrow) Get(ctx context.Context, id relay.PayloadID) (*relay.Contents, error) {
	contents, err := e.Store.Get(ctx, id)
	suspect(ctx, e.probe, err)
	return contents, err
}

// Builders implements slots.Store.
func (e suspectedEscrow) Builders(ctx context.Context, slot phase0.Slot,
	blockHash phase0.Hash32) ([]phase0.BLSPubKey, error) {
	builders, err := e.Store.Builders(ctx, slot, blockHash)
	suspect(ctx, e.probe, err)
	return builders, err
}

// suspect asks a probe for a test after an error, unless the error only means that the caller went
// away.
func suspect(ctx context.Context, probe *deliver.Probe, err error) {
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		probe.Suspect()
	}
}
