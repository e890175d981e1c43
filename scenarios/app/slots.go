package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios"
)

// finishSlots records the outcome of each slot when half of the next slot has passed: by then the
// proposer of the next slot has built on a late block, or has not. Each slot is recorded once.
func (l *planRun) finishSlots(ctx context.Context) error {
	for slot := 1; slot <= l.plan.Slots; slot++ {
		at := l.network.Spec.SlotStart(phase0.Slot(slot + 1)).Add(l.plan.Slot / 2)
		if err := l.clock.Until(ctx, at); err != nil {
			return nil
		}
		if err := l.finishSlot(phase0.Slot(slot), at); err != nil {
			return err
		}
	}
	return nil
}

// ChainSlot is the fact of a finished slot: what the chain has for it.
type ChainSlot struct {
	BlockHash phase0.Hash32         `json:"block_hash"`
	Proposer  phase0.ValidatorIndex `json:"proposer_index"`
	Txs       int                   `json:"txs"`
	Blobs     int                   `json:"blobs"`
	// Delivered are the blocks that relays published.
	Delivered []phase0.Hash32 `json:"delivered,omitempty"`
	// Sale is what became of the payload, from gloas on.
	Sale *beacon.Sale `json:"sale,omitempty"`
}

func (l *planRun) finishSlot(slot phase0.Slot, at time.Time) error {
	facts, err := l.book.all()
	if err != nil {
		return err
	}
	r := scenarios.Record{Slot: int(slot), Actor: "chain", Subject: scenarios.SlotFinished,
		Fork: l.network.Spec.ForkAt(slot).String()}
	has := l.network.SlotAt(slot)
	found := ChainSlot{BlockHash: has.BlockHash, Proposer: has.Proposer, Txs: has.Txs, Blobs: has.Blobs,
		Sale: has.Sale}
	r.ID = scenarios.Local
	if !has.Canonical {
		r.ID = scenarios.Missed
	}
	full := has.Sale == nil || has.Sale.Full
	if has.Canonical && !full {
		r.ID = scenarios.Empty
	}
	for _, fact := range facts {
		var delivered relay.PayloadDelivered
		if fact.Slot != r.Slot || fact.Subject != scenarios.PayloadDelivered || json.Unmarshal(fact.Fact, &delivered) != nil {
			continue
		}
		found.Delivered = append(found.Delivered, delivered.BlockHash)
		switch {
		case has.Canonical && full && delivered.BlockHash == has.BlockHash:
			r.ID, r.About, r.ValueWei = scenarios.Landed, fact.About, fact.ValueWei
		case r.ID != scenarios.Landed && r.ID != scenarios.Empty:
			r.ID = scenarios.Orphaned
		}
	}
	l.book.add(r, at, found)
	return nil
}
