package beacon

import (
	"bytes"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Block is what the consensus knows of a block. It is immutable but for Late and Orphaned's source, the fork choice.
type Block struct {
	Slot          phase0.Slot
	Root          phase0.Root
	ParentRoot    phase0.Root
	ProposerIndex phase0.ValidatorIndex
	BlockHash     phase0.Hash32
	BlockNumber   uint64
	Fork          eth.Fork
	ArrivedAt     time.Time
	// Late: it came after the attestation deadline of its slot, so its committee had voted already.
	Late bool

	// What the next block needs to know.
	randao         [32]byte
	nextWithdrawal uint64
	signed         *signedBlock // nil for genesis
}

// forkChoice picks the head among known blocks: from genesis on, at each block the child with the heavier subtree. A committee weighs 100,
// proposer boost 40, as on mainnet in percent of a committee. It is pure: time comes as slots and votes.
type forkChoice struct {
	blocks   map[phase0.Root]*Block
	children map[phase0.Root][]*Block
	votes    map[phase0.Slot]phase0.Root // of each slot's committee
	genesis  *Block
	boosted  phase0.Root // a timely block of the running slot
}

// Weights in percent of a committee (consensus-specs, PROPOSER_SCORE_BOOST and REORG_HEAD_WEIGHT_THRESHOLD).
const (
	committeeWeight = 100
	boostWeight     = 40
	weakHead        = 20
)

// votesKept is how many slots a vote counts; older ones are agreed upon.
const votesKept = 64

func newForkChoice(genesis *Block) *forkChoice {
	return &forkChoice{
		blocks: map[phase0.Root]*Block{genesis.Root: genesis}, children: map[phase0.Root][]*Block{},
		votes: map[phase0.Slot]phase0.Root{}, genesis: genesis,
	}
}

// add takes a block whose parent is known. A timely one is boosted until the slot is over.
func (f *forkChoice) add(b *Block) {
	f.blocks[b.Root] = b
	f.children[b.ParentRoot] = append(f.children[b.ParentRoot], b)
	if !b.Late {
		f.boosted = b.Root
	}
}

// beginSlot ends the boost of the slot before.
func (f *forkChoice) beginSlot(slot phase0.Slot) {
	f.boosted = phase0.Root{}
	if slot > votesKept {
		delete(f.votes, slot-votesKept)
	}
}

// attest lets a slot's committee vote for the head that it sees.
func (f *forkChoice) attest(slot phase0.Slot) { f.votes[slot] = f.head().Root }

// head is the block at the end of the heaviest way.
func (f *forkChoice) head() *Block {
	weights := f.weights()
	at := f.genesis
	for len(f.children[at.Root]) > 0 {
		best := f.children[at.Root][0]
		for _, child := range f.children[at.Root][1:] {
			if w, bw := weights[child.Root], weights[best.Root]; w > bw || (w == bw && bytes.Compare(child.Root[:], best.Root[:]) > 0) {
				best = child
			}
		}
		at = best
	}
	return at
}

// weights of all subtrees that anybody voted for.
func (f *forkChoice) weights() map[phase0.Root]int {
	weights := map[phase0.Root]int{}
	support := func(root phase0.Root, weight int) {
		for b := f.blocks[root]; b != nil; b = f.blocks[b.ParentRoot] {
			weights[b.Root] += weight
		}
	}
	for _, root := range f.votes {
		support(root, committeeWeight)
	}
	support(f.boosted, boostWeight)
	return weights
}

// proposerHead is the block that the proposer of a slot builds on (consensus-specs, get_proposer_head): the head, but not one that came late
// and that nobody voted for, if its parent is just one slot older. That is a re-organisation of one block.
func (f *forkChoice) proposerHead(slot phase0.Slot) *Block {
	head := f.head()
	parent := f.blocks[head.ParentRoot]
	if head.Late && parent != nil && head.Slot+1 == slot && parent.Slot+1 == head.Slot && f.weights()[head.Root] < weakHead {
		return parent
	}
	return head
}

// canonical is the block of a slot on the way to the head.
func (f *forkChoice) canonical(slot phase0.Slot) (*Block, bool) {
	b := f.head()
	for b != nil && b.Slot > slot {
		b = f.blocks[b.ParentRoot]
	}
	return b, b != nil && b.Slot == slot
}

// equivocates says whether another block of the same proposer for the same slot is known.
func (f *forkChoice) equivocates(slot phase0.Slot, proposer phase0.ValidatorIndex, root phase0.Root) bool {
	for _, b := range f.blocks {
		if b.Slot == slot && b.ProposerIndex == proposer && b.Root != root && b.signed != nil {
			return true
		}
	}
	return false
}
