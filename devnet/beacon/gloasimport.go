package beacon

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// errParentPayload says that a block builds on a payload that was not revealed here.
var errParentPayload = errors.New("the payload of the parent is not known")

// addGloas applies a block of gloas, whose proposer and signature were verified, and adds it to the
// chain. Its payload comes later, if at all.
func (b *Beacon) addGloas(s *signedBlock, parent *Block) error {
	body := s.gloas.Message.Body
	bid := body.SignedExecutionPayloadBid
	if err := body.CheckLimits(b.cfg.Spec.MaxBlobs(s.slot)); err != nil {
		return fmt.Errorf("block: %w", err)
	}
	if err := checkPayloadAttestations(body.PayloadAttestations, s, parent); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	onFull := bid.Message.ParentBlockHash == parent.BlockHash
	if onFull && parent.bid != nil && !b.choice.tree.Revealed(parent.Root) {
		return errParentPayload
	}
	before, err := b.stateAt(parent)
	if err != nil {
		return err
	}
	after, err := before.Block(b.rules(), &epbs.Block{
		Slot: s.slot, Proposer: s.proposer, ParentRoot: s.parentRoot, PrevRandao: parent.randao, Bid: bid,
		ParentRequests: body.ParentExecutionRequests, Votes: b.votesFor(parent), Slashed: b.slashedIn(body, parent),
		FinalEpoch: b.finalEpoch(b.cfg.Spec.EpochOf(s.slot)),
	})
	if err != nil {
		return fmt.Errorf("block: %w", err)
	}
	arrived := b.cfg.Clock.Now()
	b.choice.add(&Block{
		Slot: s.slot, Root: s.root, ParentRoot: s.parentRoot, ProposerIndex: s.proposer, BlockHash: bid.Message.BlockHash,
		FeeRecipient: bid.Message.FeeRecipient, Fork: s.fork, ArrivedAt: arrived,
		Late:   arrived.Sub(b.cfg.Spec.SlotStart(s.slot)) > b.deadline(s.slot),
		randao: mixReveal(parent.randao, s.reveal), nextWithdrawal: after.NextWithdrawal,
		bid: bid.Message, builders: after, header: s.header(), signed: s.block,
	})
	return nil
}

// checkPayloadAttestations requires that votes on payloads are about the block of the slot before.
// Their signatures are not checked, as those of other aggregates: this node's committee has voted
// here already.
func checkPayloadAttestations(list []*gloas.PayloadAttestation, s *signedBlock, parent *Block) error {
	for i, a := range list {
		if a.Data.BeaconBlockRoot != parent.Root || a.Data.Slot+1 != s.slot || parent.Slot != a.Data.Slot {
			return fmt.Errorf("payload attestation %d is about slot %d and block %#x", i, a.Data.Slot,
				a.Data.BeaconBlockRoot[:])
		}
	}
	return nil
}

// votesFor returns the stake that has attested to a block in its own slot: as if each block had all
// votes for its parent. The caller holds mu.
func (b *Beacon) votesFor(parent *Block) []epbs.Vote {
	if parent.bid == nil || b.choice.votes[parent.Slot] != parent.Root {
		return nil
	}
	members := b.schedule.committee(parent.Slot, b.cfg.Spec.SlotsPerEpoch)
	return []epbs.Vote{{Slot: parent.Slot, Weight: phase0.Gwei(len(members) * validatorGwei)}}
}

// slashedIn returns the slots whose payments a block voids: those of the slashings that it carries,
// and that of its parent if the parent's proposer has equivocated, as if somebody had put that
// slashing into the next block. The caller holds mu.
func (b *Beacon) slashedIn(body *gloas.BeaconBlockBody, parent *Block) (list []phase0.Slot) {
	for _, slashing := range body.ProposerSlashings {
		list = append(list, slashing.SignedHeader1.Message.Slot)
	}
	if parent.bid != nil && b.choice.equivocates(parent.Slot, parent.ProposerIndex, parent.Root) {
		list = append(list, parent.Slot)
	}
	return list
}
