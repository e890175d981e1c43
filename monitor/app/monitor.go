package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/monitor"
	"github.com/gavel-relay/gavel/relay/beacon"
	"github.com/gavel-relay/gavel/relay/client"
)

// Monitor watches relays. Its report may be read at any time.
type Monitor struct {
	cfg    Config
	http   *http.Client
	nodes  *beacon.Nodes
	spec   *eth.Spec
	relays []*watched
	report *report
	// duties are the proposers of slots. Only the goroutine of Run uses them.
	duties map[phase0.Slot]phase0.BLSPubKey
	// undecided are slots of gloas with a block on which no other one builds yet, in their order.
	// Only the goroutine of Run uses them.
	undecided []phase0.Slot
}

// New makes a monitor. It sends no requests.
func New(cfg Config) (*Monitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Monitor{cfg: cfg, http: &http.Client{Timeout: cfg.Timeout}, report: newReport(cfg.Names)}
	var err error
	if m.nodes, err = beacon.New(beacon.Config{URLs: cfg.BeaconURLs, Timeout: cfg.Timeout}, cfg.Log); err != nil {
		return nil, err
	}
	for i, text := range cfg.Relays {
		address, key, err := parseRelay(text)
		if err != nil {
			return nil, err
		}
		to, err := client.New(address, client.Options{HTTP: &http.Client{Timeout: cfg.Timeout}})
		if err != nil {
			return nil, err
		}
		m.relays = append(m.relays, &watched{
			name: cfg.Names[i], key: key, address: address, client: to, http: m.http,
			served: map[phase0.Slot]map[phase0.Hash32]*uint256.Int{},
		})
	}
	return m, nil
}

// Run watches until the context ends, and returns nil then. If the beacon node does not answer in a
// slot, Run logs that and goes on with the next slot.
func (m *Monitor) Run(ctx context.Context) error {
	var err error
	for m.spec, err = m.nodes.Spec(ctx); err != nil; m.spec, err = m.nodes.Spec(ctx) {
		m.cfg.Log.Warn("network unknown", "error", err)
		if m.cfg.Clock.Until(ctx, m.cfg.Clock.Now().Add(time.Second)) != nil {
			return nil
		}
	}
	for slot := m.spec.SlotAt(m.cfg.Clock.Now()) + 1; ; slot++ {
		for _, at := range m.cfg.AskAt {
			if m.cfg.Clock.Until(ctx, m.spec.SlotStart(slot).Add(at)) != nil {
				return nil
			}
			if m.hasHeaders(slot) { // from gloas on only proposers may ask
				m.logFailure(ctx, slot, m.ask(ctx, slot))
			}
		}
		// The slot before is judged after half of this one: by then it is decided whether a late
		// block is on the chain.
		if m.cfg.Clock.Until(ctx, m.spec.SlotStart(slot).Add(m.spec.SlotDuration/2)) != nil {
			return nil
		}
		if slot <= 1 {
			continue
		}
		if m.hasHeaders(slot - 1) {
			m.logFailure(ctx, slot-1, m.judge(ctx, slot-1))
			continue
		}
		m.undecided = append(m.undecided, slot-1)
		m.judgePayloads(ctx, slot)
	}
}

// hasHeaders says whether relays serve headers for a slot.
func (m *Monitor) hasHeaders(slot phase0.Slot) bool { return m.spec.ForkAt(slot).HasBlindedBlocks() }

func (m *Monitor) logFailure(ctx context.Context, slot phase0.Slot, err error) {
	if err != nil && ctx.Err() == nil {
		m.cfg.Log.Warn("slot not watched", "slot", slot, "error", err)
	}
}

// ask asks all relays at once for the header of a slot, and judges what they answer.
func (m *Monitor) ask(ctx context.Context, slot phase0.Slot) error {
	head, err := m.nodes.Block(ctx, "head")
	if errors.Is(err, beacon.ErrNoBlock) {
		return nil // at genesis there is no block to compare headers with
	}
	if err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	proposer, err := m.proposerOf(ctx, slot)
	if err != nil {
		return err
	}
	asked := monitor.HeaderRequest{Slot: slot, Parent: head.Hash, Proposer: proposer, ParentGasLimit: head.GasLimit}
	m.all(func(r *watched) {
		question := asked
		if registration, err := r.registration(ctx, proposer); err == nil && registration != nil &&
			registration.Message != nil {
			question.GasLimit = registration.Message.GasLimit
		}
		answer := r.header(ctx, question)
		if ctx.Err() != nil {
			return
		}
		m.report.countAnswer(r.name, answer)
		m.reportFindings(r.name, monitor.JudgeHeader(m.spec, r.key, question, answer, m.cfg.Patience))
	})
	return nil
}

// judge judges a slot that is over.
func (m *Monitor) judge(ctx context.Context, slot phase0.Slot) error {
	landed, err := m.nodes.Block(ctx, strconv.FormatUint(uint64(slot), 10))
	if err != nil && !errors.Is(err, beacon.ErrNoBlock) {
		return fmt.Errorf("read block: %w", err)
	}
	proposer, err := m.proposerOf(ctx, slot)
	if err != nil {
		return err
	}
	overs, shown := make([]monitor.PastSlot, len(m.relays)), make([]monitor.ShownRegistration, len(m.relays))
	m.each(func(i int, r *watched) {
		over := monitor.PastSlot{Slot: slot, Landed: landed.Hash, Served: r.served[slot]}
		over.Listed, over.ListErr = r.askDelivered(ctx, slot)
		overs[i] = over
		one := monitor.ShownRegistration{Slot: slot, Proposer: proposer, Serves: len(r.served[slot]) > 0}
		one.Registration, one.Err = r.registration(ctx, proposer)
		shown[i] = one
		delete(r.served, slot)
	})
	if ctx.Err() != nil {
		return nil
	}
	listed, best := false, new(uint256.Int)
	for _, over := range overs {
		for _, value := range over.Served {
			if value.Gt(best) {
				best = value
			}
		}
		for _, one := range over.Listed {
			listed = listed || one.BlockHash == landed.Hash
		}
	}
	for i, r := range m.relays {
		overs[i].ListedByAny = listed
		for _, value := range overs[i].Served {
			overs[i].Best = overs[i].Best || value.Eq(best)
		}
		m.report.slotOver(r.name, overs[i].Listed, landed.Hash)
		m.reportFindings(r.name, append(monitor.JudgeSlot(overs[i]), monitor.JudgeRegistration(m.spec, shown[i])...))
	}
	return nil
}

func (m *Monitor) all(do func(*watched)) { m.each(func(_ int, r *watched) { do(r) }) }

// each calls do for all relays at once, and waits.
func (m *Monitor) each(do func(int, *watched)) {
	var group sync.WaitGroup
	for i, r := range m.relays {
		group.Go(func() { do(i, r) })
	}
	group.Wait()
}

// reportFindings reports findings of a relay.
func (m *Monitor) reportFindings(relay string, findings []monitor.Finding) {
	for _, one := range findings {
		one.Relay = relay
		m.reportFinding(one)
	}
}

func (m *Monitor) reportFinding(one monitor.Finding) {
	one.At = m.cfg.Clock.Now()
	m.report.countFinding(one)
	party := slog.String("relay", one.Relay)
	switch {
	case one.Proposer != nil:
		party = slog.String("proposer", one.Proposer.String())
	case one.Builder != nil:
		party = slog.Uint64("builder", uint64(*one.Builder))
	}
	m.cfg.Log.Warn("fault found", party, "slot", one.Slot, "class", one.Class, "detail", one.Detail)
	if m.cfg.Found != nil {
		m.cfg.Found(one)
	}
}

// proposerOf is the public key of a slot's proposer.
func (m *Monitor) proposerOf(ctx context.Context, slot phase0.Slot) (phase0.BLSPubKey, error) {
	if pubkey, ok := m.duties[slot]; ok {
		return pubkey, nil
	}
	duties, _, err := m.nodes.Duties(ctx, m.spec.EpochOf(slot))
	if err != nil {
		return phase0.BLSPubKey{}, fmt.Errorf("fetch duties: %w", err)
	}
	if m.duties == nil {
		m.duties = map[phase0.Slot]phase0.BLSPubKey{}
	}
	for _, duty := range duties {
		m.duties[duty.Slot] = duty.Proposer
	}
	for old := range m.duties {
		if old+2*phase0.Slot(m.spec.SlotsPerEpoch) < slot {
			delete(m.duties, old)
		}
	}
	pubkey, ok := m.duties[slot]
	if !ok {
		return pubkey, fmt.Errorf("nobody is known to propose in slot %d", slot)
	}
	return pubkey, nil
}
