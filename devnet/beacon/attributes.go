package beacon

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth"
)

// attributesKey identifies an announcement. A slot may be announced several times, on different
// parents.
type attributesKey struct {
	slot   phase0.Slot
	parent phase0.Root
	status epbs.Status
}

// attributes are what a block for a slot on a certain parent must contain.
type attributes struct {
	slot         phase0.Slot
	parent       *Block
	parentHash   phase0.Hash32 // the payload to build on: the parent's, or from gloas on the one before
	proposer     phase0.ValidatorIndex
	timestamp    uint64
	feeRecipient bellatrix.ExecutionAddress
	withdrawals  []*capella.Withdrawal // nil before capella
	status       epbs.Status           // of the parent
	gasTarget    uint64                // of gloas only
}

// attributesOf computes the attributes on a parent with its payload or without. The caller holds
// mu.
func (b *Beacon) attributesOf(slot phase0.Slot, parent *Block, status epbs.Status) attributes {
	proposer := b.schedule.proposer(slot)
	a := attributes{
		slot: slot, parent: parent, proposer: proposer, timestamp: b.cfg.Spec.Timestamp(slot),
		feeRecipient: b.recipient[proposer], parentHash: parent.payloadHash(status),
		status: status,
	}
	if isGloas(b.cfg.Spec.ForkAt(slot)) {
		a.withdrawals, a.gasTarget = b.withdrawalsOf(slot, parent, status), localGasLimit
		if p := b.preferencesOn(parent, slot); p != nil {
			a.feeRecipient, a.gasTarget = p.Message.FeeRecipient, p.Message.TargetGasLimit
		}
		return a
	}
	if b.cfg.Spec.ForkAt(slot).HasWithdrawals() {
		a.withdrawals = withdrawals(parent.nextWithdrawal, b.cfg.Validators)
	}
	return a
}

// announce sends the payload attributes of a slot on the parent that is expected now, unless they
// were sent already.
func (b *Beacon) announce(slot phase0.Slot) {
	b.mu.Lock()
	parent, status := b.expectedParent(slot)
	key := attributesKey{slot, parent.Root, status}
	if b.announced[key] || b.awaitsPayload(parent, slot) {
		b.mu.Unlock()
		return
	}
	b.announced[key] = true
	for old := range b.announced {
		if old.slot+8 < slot {
			delete(b.announced, old)
		}
	}
	a := b.attributesOf(slot, parent, status)
	b.mu.Unlock()
	data, err := a.event(b.cfg.Spec.ForkAt(slot))
	if err != nil {
		b.log.Error("encode payload attributes", "slot", slot, "error", err)
		return
	}
	b.events.send("payload_attributes", data)
}

// event encodes the payload_attributes event (beacon-APIs, eventstream). Its version is the fork of
// the proposal slot. From electra on it has three more lists, which no other node sends:
// go-eth2-client 0.29 drops the event without them, and other clients ignore them.
func (a attributes) event(fork eth.Fork) ([]byte, error) {
	decimal := func(n uint64) string { return strconv.FormatUint(n, 10) }
	inner := map[string]any{
		"timestamp": decimal(a.timestamp), "prev_randao": fmt.Sprintf("%#x", a.parent.randao),
		"suggested_fee_recipient": fmt.Sprintf("%#x", a.feeRecipient[:]),
	}
	if fork.HasWithdrawals() {
		inner["withdrawals"] = a.withdrawals
	}
	if fork.HasBlobs() {
		inner["parent_beacon_block_root"] = fmt.Sprintf("%#x", a.parent.Root[:])
	}
	if isGloas(fork) {
		inner["slot_number"], inner["target_gas_limit"] = decimal(uint64(a.slot)), decimal(a.gasTarget)
		return json.Marshal(map[string]any{"version": fork.String(), "data": map[string]any{
			"proposer_index": decimal(uint64(a.proposer)), "proposal_slot": decimal(uint64(a.slot)),
			"parent_block_root": fmt.Sprintf("%#x", a.parent.Root[:]),
			"parent_block_hash": fmt.Sprintf("%#x", a.parentHash[:]), "payload_attributes": inner,
		}})
	}
	if fork.HasRequests() {
		for _, name := range []string{"deposit_requests", "withdrawal_requests", "consolidation_requests"} {
			inner[name] = []string{}
		}
	}
	return json.Marshal(map[string]any{"version": fork.String(), "data": map[string]any{
		"proposer_index": decimal(uint64(a.proposer)), "proposal_slot": decimal(uint64(a.slot)),
		"parent_block_number": decimal(a.parent.BlockNumber),
		"parent_block_root":   fmt.Sprintf("%#x", a.parent.Root[:]), "parent_block_hash": fmt.Sprintf("%#x",
			a.parent.BlockHash[:]),
		"payload_attributes": inner,
	}})
}
