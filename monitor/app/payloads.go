package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/monitor"
	"github.com/gavel-relay/gavel/relay/beacon"
)

// undecidedSlots is for how many slots the monitor waits for a block that builds on a slot's.
const undecidedSlots = 32

// errNotBuiltOn says that no block builds on the slot's yet.
var errNotBuiltOn = errors.New("no block builds on it yet")

// judgePayloads judges the slots of gloas of which the chain has decided: a later block builds on
// the payload, or without it. A slot that cannot be judged now is tried again in the next one.
func (m *Monitor) judgePayloads(ctx context.Context, now phase0.Slot) {
	var left []phase0.Slot
	for _, slot := range m.undecided {
		switch err := m.judgePayload(ctx, slot, now); {
		case err == nil:
		case slot+undecidedSlots > now:
			left = append(left, slot)
			if !errors.Is(err, errNotBuiltOn) {
				m.logFailure(ctx, slot, err)
			}
		default:
			m.logFailure(ctx, slot, fmt.Errorf("given up: %w", err))
		}
	}
	m.undecided = left
}

func (m *Monitor) judgePayload(ctx context.Context, slot, now phase0.Slot) error {
	sold, err := m.sold(ctx, slot, now)
	if err != nil {
		return err
	}
	over := monitor.PastPayload{Slot: slot, Sold: sold, Relays: make([]monitor.ListingRelay, len(m.relays))}
	if over.Proposer, err = m.proposerOf(ctx, slot); err != nil {
		return err
	}
	blocks, err := m.nodes.Proposals(ctx, slot)
	if err != nil {
		return err
	}
	over.Equivocated = blocks > 1
	indices, err := m.builderIndices(ctx)
	if err != nil {
		return err
	}
	m.each(func(i int, r *watched) {
		one := monitor.ListingRelay{Name: r.name}
		one.Listed, one.ListErr = r.askDelivered(ctx, slot)
		if index, staked := indices[r.key]; staked {
			one.Builder = &index
		}
		over.Relays[i] = one
	})
	if ctx.Err() != nil {
		return nil
	}
	onChain := phase0.Hash32{}
	if sold != nil && sold.Full {
		onChain = sold.Hash
	}
	for _, one := range over.Relays {
		m.report.slotOver(one.Name, one.Listed, onChain)
	}
	for _, one := range monitor.JudgePayload(over) {
		m.reportFinding(one)
	}
	return nil
}

// sold returns the bid of a slot's block, and whether its payload is on the chain; nil if the slot
// has no block.
func (m *Monitor) sold(ctx context.Context, slot, now phase0.Slot) (*monitor.Sold, error) {
	block, err := m.block(ctx, slot)
	if errors.Is(err, beacon.ErrNoBlock) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if block.Bid == nil {
		return nil, fmt.Errorf("the block of slot %d has no bid", slot)
	}
	value := new(uint256.Int).Add(eth.WeiOf(block.Bid.ValueGwei), eth.WeiOf(block.Bid.PaymentGwei))
	sold := &monitor.Sold{Builder: block.Bid.Builder, Hash: block.Bid.Hash, ValueWei: value}
	for later := slot + 1; later <= now; later++ {
		next, err := m.block(ctx, later)
		if errors.Is(err, beacon.ErrNoBlock) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sold.Full = next.Bid != nil && next.Bid.ParentHash == sold.Hash
		return sold, nil
	}
	return nil, errNotBuiltOn
}

// block returns the block of a slot on the chain.
func (m *Monitor) block(ctx context.Context, slot phase0.Slot) (beacon.Block, error) {
	block, err := m.nodes.Block(ctx, strconv.FormatUint(uint64(slot), 10))
	if err != nil {
		return block, fmt.Errorf("read block: %w", err)
	}
	return block, nil
}

// builderIndices returns under which indices relays bid: from gloas on a relay's key is that of a
// staked builder.
func (m *Monitor) builderIndices(ctx context.Context) (map[phase0.BLSPubKey]gloas.BuilderIndex, error) {
	var keys []phase0.BLSPubKey
	for _, r := range m.relays {
		if r.key != (phase0.BLSPubKey{}) {
			keys = append(keys, r.key)
		}
	}
	if len(keys) == 0 { // nodes would answer with all builders
		return nil, nil
	}
	return m.nodes.BuilderIndices(ctx, keys)
}
