package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/network"
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
	return l.closeLedger()
}

// closeLedger compares what was promised from builders' stakes with what became of it.
func (l *planRun) closeLedger() error {
	if l.network.Spec.ForkAt(phase0.Slot(l.plan.Slots)).HasBlindedBlocks() {
		return nil
	}
	ledger, err := l.network.Beacon.Ledger()
	if err != nil {
		return fmt.Errorf("close the ledger of stakes: %w", err)
	}
	r := scenarios.Record{Slot: l.plan.Slots, Actor: "chain", Subject: scenarios.LedgerClosed, ID: scenarios.LedgerWrong}
	if ledger.Right() {
		r.ID = scenarios.LedgerRight
	}
	l.book.add(r, time.Time{}, ledger)
	return nil
}

// ChainSlot is the fact of a finished slot: what the chain has for it.
type ChainSlot struct {
	scenarios.ChainBlock

	Proposer phase0.ValidatorIndex `json:"proposer_index"`
	Blobs    int                   `json:"blobs"`
	// Delivered are the blocks that relays published.
	Delivered []phase0.Hash32 `json:"delivered,omitempty"`
	// Withdrawn is what the payload pays from builders' stakes.
	Withdrawn []network.Withdrawal `json:"withdrawn,omitempty"`
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
	payee := l.payeeOf(has)
	found := ChainSlot{ChainBlock: l.blockOf(has), Proposer: has.Proposer, Blobs: has.Blobs, Withdrawn: has.Withdrawn,
		Sale: has.Sale}
	r.ID = scenarios.Local
	if !has.Canonical {
		r.ID = scenarios.Missed
	}
	full := has.Sale == nil || has.Sale.Full
	if has.Canonical && !full {
		r.ID, r.Because = scenarios.Empty, causeOf(has.Sale)
	}
	l.sold(&r, has.Sale)
	for _, fact := range facts {
		var delivered relay.PayloadDelivered
		if fact.Slot != r.Slot || fact.Subject != scenarios.PayloadDelivered || json.Unmarshal(fact.Fact, &delivered) != nil {
			continue
		}
		found.Delivered = append(found.Delivered, delivered.BlockHash)
		switch {
		case has.Canonical && full && delivered.BlockHash == has.BlockHash:
			r.ID, r.About, r.ValueWei = scenarios.Landed, fact.About, fact.ValueWei
			found.BuilderKey, found.Relay = delivered.Builder, cmp.Or(found.Relay, l.plan.RelayOf(fact.Actor))
			payee = cmp.Or(delivered.FeeRecipient, payee) // a proposer may have asked for another one
		case r.ID != scenarios.Landed && r.ID != scenarios.Empty:
			r.ID = scenarios.Orphaned
		}
	}
	if found.BuilderKey == (phase0.BLSPubKey{}) && r.ID == scenarios.Landed { // sold by the network
		found.BuilderKey = l.book.keyOf(r.About)
	}
	found.PaidWei = l.paidIn(has, common.Address(payee))
	l.book.add(r, at, found)
	for _, one := range has.Withdrawn {
		if !l.isOwed(slot, one) {
			continue // the rest of a stake goes back to a builder that has left
		}
		l.book.add(scenarios.Record{
			Slot: int(slot), Actor: "chain", Subject: scenarios.StakePaid, About: l.network.StakedName(one.Builder),
			ValueWei: weiOf(one.Amount).Dec(),
		}, at, one)
	}
	return nil
}

// blockOf says what the chain has of a slot's block.
func (l *planRun) blockOf(has network.Slot) scenarios.ChainBlock {
	return scenarios.ChainBlock{
		BlockHash: has.BlockHash, ParentHash: has.ParentHash, Number: has.Number, GasUsed: has.GasUsed, Txs: has.Txs,
		ProposerKey: l.network.Beacon.ValidatorKey(has.Proposer).PublicKey(),
	}
}

// payeeOf is the account that the block of a slot pays as its proposer's, if no relay says: the
// block's own fee recipient, or if that is a builder, the proposer's usual one.
func (l *planRun) payeeOf(has network.Slot) bellatrix.ExecutionAddress {
	if slices.Contains(network.Addresses(l.network.Builders), has.FeeRecipient) {
		return l.network.Payee(has.Proposer)
	}
	return bellatrix.ExecutionAddress(has.FeeRecipient)
}

// paidIn is what the block of a slot pays to the proposer's account; nil if there is none, or if a
// later one pays a part.
func (l *planRun) paidIn(has network.Slot, payee common.Address) *uint256.Int {
	if has.Number == 0 || has.Sale != nil && has.Sale.ValueGwei > 0 {
		return nil
	}
	paid, err := l.network.PaidBy(has.BlockHash, payee)
	if err != nil {
		l.log.Warn("what a block has paid is not known", "block", has.Number, "error", err)
	}
	return paid
}

// isOwed says whether a withdrawal pays the proposer of a slot up to one what the slot's bid has
// promised.
func (l *planRun) isOwed(upTo phase0.Slot, paid network.Withdrawal) bool {
	for slot := phase0.Slot(1); slot <= upTo; slot++ {
		if has := l.network.SlotAt(slot); isFor(has.Sale, l.network.Payee(has.Proposer), paid) {
			return true
		}
	}
	return false
}

// isFor says whether a withdrawal is what a sale has promised to a fee recipient.
func isFor(sale *beacon.Sale, payee bellatrix.ExecutionAddress, paid network.Withdrawal) bool {
	return sale != nil && sale.ValueGwei > 0 && sale.Builder == paid.Builder && sale.ValueGwei == paid.Amount &&
		common.Address(payee) == paid.To
}

// sold says in the record of a slot if a builder with stake has sold its block by the network.
func (l *planRun) sold(r *scenarios.Record, sale *beacon.Sale) {
	if sale == nil || l.network.StakedName(sale.Builder) == "" {
		return
	}
	r.About = l.network.StakedName(sale.Builder)
	if sale.Full {
		r.ID, r.ValueWei = scenarios.Landed, weiOf(sale.ValueGwei).Dec()
	}
}

func weiOf(amount phase0.Gwei) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(uint64(amount)), uint256.NewInt(1_000_000_000))
}

// causeOf returns why the chain leaves a payload out.
func causeOf(sale *beacon.Sale) string {
	switch {
	case !sale.Revealed:
		return scenarios.Withheld
	case 2*sale.Present <= sale.Members:
		return scenarios.Unseen
	case 2*sale.Available <= sale.Members:
		return scenarios.NoBlobs
	default:
		return ""
	}
}
