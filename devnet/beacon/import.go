package beacon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// errEquivocation says that the proposer has already published another block for the slot.
var errEquivocation = errors.New("the proposer has published another block for this slot")

// importBlock checks a published block, executes it and adds it to the chain. A known block is not
// an error, unless RefusesKnown says so. If equivocations are to be refused, a second block of the
// slot's proposer is refused before any other check.
func (b *Beacon) importBlock(ctx context.Context, s *signedBlock, refuseEquivocations bool) error {
	b.importing.Lock()
	defer b.importing.Unlock()
	b.mu.RLock()
	_, known := b.choice.blocks[s.root]
	equivocates := b.choice.equivocates(s.slot, s.proposer, s.root)
	parent, final := b.choice.blocks[s.parentRoot], b.choice.final
	var expected attributes
	if parent != nil {
		expected = b.attributesOf(s.slot, parent, epbs.Full)
	}
	b.mu.RUnlock()
	switch {
	case known && refuseEquivocations && b.cfg.RefusesKnown != nil && b.cfg.RefusesKnown(s.slot):
		return fmt.Errorf("equivocation validation failed: block for slot %d already exists in fork choice: block is "+
			"equivocated", s.slot)
	case known:
		return nil
	case equivocates && refuseEquivocations:
		return errEquivocation
	case parent == nil:
		return fmt.Errorf("unknown parent block %#x", s.parentRoot[:])
	case parent.Slot < final.Slot:
		return fmt.Errorf("parent block of slot %d: the chain is final up to slot %d", parent.Slot, final.Slot)
	}
	if err := b.check(s, expected); err != nil {
		return err
	}
	if s.gloas != nil {
		if err := b.addGloas(s, parent); err != nil {
			return err
		}
		return b.follow(ctx, s, equivocates)
	}
	if err := b.cfg.Execution.Import(ctx, s.fork, s.payload, s.commitments, s.parentRoot, s.requests); errors.Is(err,
		chain.ErrInvalid) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errExecution, err)
	}
	arrived := b.cfg.Clock.Now()
	block := &Block{
		Slot: s.slot, Root: s.root, ParentRoot: s.parentRoot, ProposerIndex: s.proposer, BlockHash: s.payload.BlockHash,
		BlockNumber: s.payload.BlockNumber, FeeRecipient: s.payload.FeeRecipient, Fork: s.fork, ArrivedAt: arrived,
		Late:           arrived.Sub(b.cfg.Spec.SlotStart(s.slot)) > b.deadline(s.slot),
		randao:         mixReveal(parent.randao, s.reveal),
		nextWithdrawal: parent.nextWithdrawal + uint64(len(s.payload.Withdrawals)),
		header:         s.header(), signed: s.block,
	}
	b.mu.Lock()
	b.choice.add(block)
	if s.blobs != nil && len(s.blobs.Blobs) > 0 {
		b.blobs[block.Root] = s.blobs
	}
	b.mu.Unlock()
	return b.follow(ctx, s, equivocates)
}

// follow follows the head after a block was added.
func (b *Beacon) follow(ctx context.Context, s *signedBlock, equivocates bool) error {
	if equivocates {
		b.log.Warn("equivocation imported", "slot", s.slot, "proposer", s.proposer, "root", s.root)
	}
	b.events.send("block", blockEvent(s.slot, s.root))
	if err := b.followHead(ctx); err != nil {
		return fmt.Errorf("%w: %w", errExecution, err)
	}
	return nil
}

// check applies the consensus rules that need no execution, cheap ones first.
func (b *Beacon) check(s *signedBlock, expected attributes) error {
	spec := b.cfg.Spec
	switch {
	case s.fork != spec.ForkAt(s.slot):
		return fmt.Errorf("a %s block in a slot of %s", s.fork, spec.ForkAt(s.slot))
	case s.slot > spec.SlotAt(b.cfg.Clock.Now()):
		return fmt.Errorf("slot %d has not begun", s.slot)
	case s.slot <= expected.parent.Slot:
		return fmt.Errorf("slot %d is not after its parent's %d", s.slot, expected.parent.Slot)
	case s.proposer != expected.proposer:
		return fmt.Errorf("proposer %d, expected %d", s.proposer, expected.proposer)
	case s.stateRoot != stateRoot(s.parentRoot, s.slot):
		return fmt.Errorf("state root %#x is not that of slot %d on its parent", s.stateRoot[:], s.slot)
	}
	if s.gloas == nil {
		if err := checkPayload(s, expected); err != nil {
			return err
		}
	}
	_, pubkey := b.Duty(s.slot)
	if err := bls.Verify(pubkey, eth.SigningRoot(s.root, spec.ProposerDomain(s.slot)), s.signature); err != nil {
		return fmt.Errorf("block signature: %w", err)
	}
	epoch := spec.EpochOf(s.slot)
	if err := bls.Verify(pubkey, eth.SigningRoot(epochRoot(epoch), spec.RandaoDomain(epoch)), s.reveal); err != nil {
		return fmt.Errorf("RANDAO reveal: %w", err)
	}
	if s.blobs == nil {
		return nil
	}
	if err := b.proofs.verify(s.fork, s.blobs); err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	return nil
}

// checkPayload compares the payload with the slot's attributes, and its hash with its contents.
func checkPayload(s *signedBlock, expected attributes) error {
	p := s.payload
	switch {
	case p.ParentHash != expected.parent.BlockHash:
		return fmt.Errorf("payload's parent %#x, expected %#x", p.ParentHash[:], expected.parent.BlockHash[:])
	case p.Timestamp != expected.timestamp:
		return fmt.Errorf("payload's timestamp %d, expected %d", p.Timestamp, expected.timestamp)
	case p.PrevRandao != expected.parent.randao:
		return fmt.Errorf("payload's prev_randao %#x, expected %#x", p.PrevRandao, expected.parent.randao)
	case len(p.Withdrawals) != len(expected.withdrawals):
		return fmt.Errorf("%d withdrawals, expected %d", len(p.Withdrawals), len(expected.withdrawals))
	}
	for i, w := range p.Withdrawals {
		if *w != *expected.withdrawals[i] {
			return fmt.Errorf("withdrawal %d is %s, expected %s", i, w, expected.withdrawals[i])
		}
	}
	if _, err := payload.Block(s.fork, p, s.commitments, s.parentRoot, s.requests); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	return nil
}

// followHead makes the head of the fork choice the execution node's head and sends the events, if
// the head has moved. If that fails, it is tried again at the next block or deadline.
func (b *Beacon) followHead(ctx context.Context) error {
	b.following.Lock()
	defer b.following.Unlock()
	b.mu.RLock()
	before, statusBefore := b.head, b.status
	head, status := b.choice.headNode()
	fork := b.choice.fork(before, head)
	b.mu.RUnlock()
	if head == before && status == statusBefore {
		return nil
	}
	if err := b.cfg.Execution.SetHead(ctx, head.payloadHash(status)); err != nil {
		return err
	}
	b.mu.Lock()
	b.head, b.status = head, status
	b.mu.Unlock()
	if head != before {
		b.tellHead(head, before, fork)
	}
	if b.hasGloas() {
		b.events.send("head_v2", b.headV2Event(head, before, status))
	}
	b.announce(head.Slot + 1)
	return nil
}

// tellHead sends the events about a block that has become the head.
func (b *Beacon) tellHead(head, before, fork *Block) {
	if fork != before {
		b.log.Info("re-organisation", "from", before.Slot, "to", head.Slot, "common", fork.Slot)
		b.events.send("chain_reorg", b.reorgEvent(head, before, fork))
	}
	b.events.send("head", b.headEvent(head, before))
}

// headV2Event encodes the head_v2 event, which also comes when the payload of the head is revealed
// (beacon-APIs, eventstream).
func (b *Beacon) headV2Event(head, before *Block, status epbs.Status) []byte {
	epoch := b.cfg.Spec.EpochOf(head.Slot)
	current, next := b.dependentRoot(head, max(epoch, 1)-1), b.dependentRoot(head, epoch)
	state := head.header.Message.StateRoot
	return mustJSON(map[string]any{"version": head.Fork.String(), "data": map[string]any{
		"slot": decimal(head.Slot), "block": hexOf(head.Root[:]), "state": hexOf(state[:]),
		"payload_status": status.String(), "epoch_transition": b.cfg.Spec.EpochOf(before.Slot) != epoch,
		"current_epoch_dependent_root": hexOf(current[:]), "next_epoch_dependent_root": hexOf(next[:]),
		"execution_optimistic": false,
	}})
}

// headEvent encodes the head event (beacon-APIs, eventstream).
func (b *Beacon) headEvent(head, before *Block) []byte {
	epoch := b.cfg.Spec.EpochOf(head.Slot)
	current, previous := b.dependentRoot(head, epoch), b.dependentRoot(head, max(epoch, 1)-1)
	state := head.header.Message.StateRoot
	return mustJSON(map[string]any{
		"slot": strconv.FormatUint(uint64(head.Slot), 10), "block": fmt.Sprintf("%#x", head.Root[:]),
		"state":                        fmt.Sprintf("%#x", state[:]),
		"epoch_transition":             b.cfg.Spec.EpochOf(before.Slot) != epoch,
		"previous_duty_dependent_root": fmt.Sprintf("%#x", previous[:]),
		"current_duty_dependent_root":  fmt.Sprintf("%#x", current[:]),
		"execution_optimistic":         false,
	})
}

// blockEvent encodes the block event, which comes for each block that is imported, also if another
// one stays the head (beacon-APIs, eventstream).
func blockEvent(slot phase0.Slot, root phase0.Root) []byte {
	return mustJSON(map[string]any{
		"slot": decimal(slot), "block": hexOf(root[:]),
		"execution_optimistic": false,
	})
}

// finalEvent encodes the finalized_checkpoint event (beacon-APIs, eventstream).
func (b *Beacon) finalEvent(block *Block, epoch phase0.Epoch) []byte {
	return mustJSON(map[string]any{
		"block": hexOf(block.Root[:]), "state": hexOf(block.header.Message.StateRoot[:]), "epoch": decimal(epoch),
		"execution_optimistic": false,
	})
}

// reorgEvent encodes the chain_reorg event. Its depth is how many slots of the old chain, back to
// the last common block, no longer count.
func (b *Beacon) reorgEvent(head, before, common *Block) []byte {
	return mustJSON(map[string]any{
		"slot": decimal(head.Slot), "depth": decimal(before.Slot - common.Slot),
		"epoch":          decimal(b.cfg.Spec.EpochOf(head.Slot)),
		"old_head_block": hexOf(before.Root[:]), "old_head_state": hexOf(before.header.Message.StateRoot[:]),
		"new_head_block": hexOf(head.Root[:]), "new_head_state": hexOf(head.header.Message.StateRoot[:]),
		"execution_optimistic": false,
	})
}

// mustJSON encodes values for which encoding cannot fail: maps of text, numbers and the library's
// fixed-size types.
func mustJSON(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return raw
}

// errExecution says that a block keeps the consensus rules, but the execution node could not tell
// whether it is valid.
var errExecution = errors.New("the execution node could not take the payload")

// importStatus returns the HTTP status for a publisher whose block was not imported.
func importStatus(err error) int {
	if errors.Is(err, errExecution) {
		return http.StatusAccepted
	}
	return http.StatusBadRequest
}

// withoutCancel returns the request's context without its cancellation.
func withoutCancel(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }
