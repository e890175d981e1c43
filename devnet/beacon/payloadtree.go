package beacon

import (
	"sync/atomic"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth"
)

// payloadTree is the fork choice of gloas with this node's committees: each validator votes once an
// epoch, and some of a slot's committee say in addition whether the payload was there in time. It
// also decides in slots before gloas, where every block has its payload.
type payloadTree struct {
	*epbs.Tree
	schedule      schedule
	slotsPerEpoch uint64
	slotStake     phase0.Gwei
	// newest is the head, nil if it must be looked for. Who only reads the fork choice may set it,
	// beside others who read.
	newest atomic.Pointer[epbs.Node]
}

func newPayloadTree(s schedule, spec *eth.Spec, genesis *Block) *payloadTree {
	stake := slotStake(s.validators, spec.SlotsPerEpoch)
	return &payloadTree{
		schedule: s, slotsPerEpoch: spec.SlotsPerEpoch, slotStake: stake,
		Tree: epbs.NewTree(epbs.TreeRules{
			Stake:   func(phase0.ValidatorIndex) phase0.Gwei { return validatorGwei },
			Boost:   stake * boostWeight / committeeWeight,
			Members: committeeSize,
		}, epbs.Leaf{Root: genesis.Root, Whole: true}),
	}
}

// slotStake is the stake of one slot's committees.
func slotStake(validators, slotsPerEpoch uint64) phase0.Gwei {
	return phase0.Gwei(validators * validatorGwei / slotsPerEpoch)
}

func (t *payloadTree) add(b, parent *Block) {
	t.newest.Store(nil)
	t.Add(epbs.Leaf{
		Root: b.Root, Parent: b.ParentRoot, Slot: b.Slot, OnFull: b.onFull(parent), Whole: b.bid == nil, Late: b.Late,
	})
}

func (t *payloadTree) beginSlot(slot phase0.Slot) {
	t.newest.Store(nil)
	t.BeginSlot(slot)
}

// attest lets the slot's committee vote for the head.
func (t *payloadTree) attest(slot phase0.Slot) {
	node := t.head()
	t.newest.Store(nil)
	for _, validator := range t.schedule.committee(slot, t.slotsPerEpoch) {
		t.Attest(validator, epbs.Ballot{Slot: slot, Root: node.Root, Present: node.Status == epbs.Full})
	}
}

// testify takes what a member of the payload timeliness committee says.
func (t *payloadTree) testify(member int, root phase0.Root, present, available bool) {
	t.newest.Store(nil)
	t.Testify(member, root, present, available)
}

func (t *payloadTree) reveal(root phase0.Root) {
	t.newest.Store(nil)
	t.Reveal(root)
}

func (t *payloadTree) head() epbs.Node {
	if known := t.newest.Load(); known != nil {
		return *known
	}
	found := t.Head()
	t.newest.Store(&found)
	return found
}

func (t *payloadTree) isWeak(b *Block) bool {
	return t.Weight(b.Root) < t.slotStake*weakHead/committeeWeight
}

// finalize forgets what is older than the final block, or than the last one before it on whose
// payload the chain builds.
func (t *payloadTree) finalize(f *forkChoice) {
	t.newest.Store(nil)
	child := f.head()
	for b := child; b != nil; b = f.blocks[b.ParentRoot] {
		if b.Slot <= f.final.Slot && b != child && child.onFull(b) {
			t.Finalize(b.Root)
			return
		}
		child = b
	}
}
