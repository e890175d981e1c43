package beacon

import (
	"bytes"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Block is what the consensus knows of a block. It is immutable. Whether it is on the chain depends
// on the fork choice (Canonical).
type Block struct {
	Slot          phase0.Slot
	Root          phase0.Root
	ParentRoot    phase0.Root
	ProposerIndex phase0.ValidatorIndex
	BlockHash     phase0.Hash32
	BlockNumber   uint64
	FeeRecipient  bellatrix.ExecutionAddress
	Fork          eth.Fork
	ArrivedAt     time.Time
	// Late says that the block came after the attestation deadline of its slot, when its committee
	// had voted already.
	Late bool

	// What the next block depends on.
	randao         [32]byte
	nextWithdrawal uint64
	// What the API shows of the block.
	header *phase0.SignedBeaconBlockHeader
	signed codec // SignedBeaconBlock
}

// forkChoice selects the head among the known blocks: from the last final block on, it follows the
// child with the heavier subtree. A committee weighs 100 and proposer boost 40, since mainnet's
// boost is 40 percent of a committee. It is pure: time comes in as slots and votes.
type forkChoice struct {
	slotsPerEpoch phase0.Slot
	blocks        map[phase0.Root]*Block
	children      map[phase0.Root][]*Block
	slots         map[phase0.Slot][]*Block    // all blocks of a slot, equivocations too
	votes         map[phase0.Slot]phase0.Root // of each slot's committee, since the final block
	genesis       *Block
	final         *Block // every head descends from it
	boosted       *Block // the first timely block of the present slot, if any
}

// Weights in percent of a committee (consensus-specs, PROPOSER_SCORE_BOOST and
// REORG_HEAD_WEIGHT_THRESHOLD).
const (
	committeeWeight = 100
	boostWeight     = 40
	weakHead        = 20
)

// finalAfter is how many epochs finality is behind: two, as if every validator voted.
const finalAfter = 2

func newForkChoice(genesis *Block, slotsPerEpoch uint64) *forkChoice {
	return &forkChoice{
		slotsPerEpoch: phase0.Slot(slotsPerEpoch), blocks: map[phase0.Root]*Block{genesis.Root: genesis},
		children: map[phase0.Root][]*Block{}, slots: map[phase0.Slot][]*Block{}, votes: map[phase0.Slot]phase0.Root{},
		genesis: genesis, final: genesis,
	}
}

// add takes a block whose parent is known. The first timely block of a slot has the boost until the
// slot is over.
func (f *forkChoice) add(b *Block) {
	f.blocks[b.Root] = b
	f.children[b.ParentRoot] = append(f.children[b.ParentRoot], b)
	f.slots[b.Slot] = append(f.slots[b.Slot], b)
	if !b.Late && (f.boosted == nil || f.boosted.Slot < b.Slot) {
		f.boosted = b
	}
}

// beginSlot ends the boost of the slot before. A block of the new slot that arrived before this
// call keeps its boost. Blocks that are two epochs old become final, and votes before them no
// longer count.
func (f *forkChoice) beginSlot(slot phase0.Slot) {
	if f.boosted != nil && f.boosted.Slot < slot {
		f.boosted = nil
	}
	edge := slot - slot%f.slotsPerEpoch
	if edge < finalAfter*f.slotsPerEpoch {
		return
	}
	edge -= finalAfter * f.slotsPerEpoch
	f.final = f.ancestor(f.head(), max(edge, f.final.Slot))
	for voted := range f.votes {
		if voted < edge {
			delete(f.votes, voted)
		}
	}
}

// attest makes a slot's committee vote for the present head.
func (f *forkChoice) attest(slot phase0.Slot) { f.votes[slot] = f.head().Root }

// head returns the last block on the heaviest branch.
func (f *forkChoice) head() *Block {
	weights := f.weights()
	at := f.final
	for len(f.children[at.Root]) > 0 {
		best := f.children[at.Root][0]
		for _, child := range f.children[at.Root][1:] {
			if w, bw := weights[child.Root], weights[best.Root]; w > bw ||
				(w == bw && bytes.Compare(child.Root[:], best.Root[:]) > 0) {
				best = child
			}
		}
		at = best
	}
	return at
}

// weights returns the weight of each subtree after the final block that has votes or the boost.
func (f *forkChoice) weights() map[phase0.Root]int {
	weights := map[phase0.Root]int{}
	support := func(b *Block, weight int) {
		for ; b != nil && b.Slot > f.final.Slot; b = f.blocks[b.ParentRoot] {
			weights[b.Root] += weight
		}
	}
	for _, root := range f.votes {
		support(f.blocks[root], committeeWeight)
	}
	support(f.boosted, boostWeight)
	return weights
}

// proposerHead returns the block on which the proposer of a slot builds (consensus-specs,
// get_proposer_head). It is the head, unless the head came late, has no votes, and its parent is
// just one slot older: then it is the parent, and the head is orphaned.
func (f *forkChoice) proposerHead(slot phase0.Slot) *Block {
	head := f.head()
	parent := f.blocks[head.ParentRoot]
	if head.Late && parent != nil && head.Slot+1 == slot && parent.Slot+1 == head.Slot &&
		f.weights()[head.Root] < weakHead {
		return parent
	}
	return head
}

// ancestor returns the last block at or before a slot on the chain that ends with b.
func (f *forkChoice) ancestor(b *Block, slot phase0.Slot) *Block {
	for b.Slot > slot {
		b = f.blocks[b.ParentRoot]
	}
	return b
}

// checkpoint goes back from an epoch by the number before, and returns the last block at or before
// the first slot of that earlier epoch, on the chain that ends with b.
func (f *forkChoice) checkpoint(b *Block, epoch, before phase0.Epoch) *Block {
	return f.ancestor(b, phase0.Slot(max(epoch, before)-before)*f.slotsPerEpoch)
}

// fork returns the last block that the chains to a and to b have in common.
func (f *forkChoice) fork(a, b *Block) *Block {
	for a != b {
		if a.Slot < b.Slot {
			a, b = b, a
		}
		a = f.blocks[a.ParentRoot]
	}
	return a
}

// canonical returns the block of a slot on the chain that ends with the head.
func (f *forkChoice) canonical(slot phase0.Slot) (*Block, bool) {
	b := f.ancestor(f.head(), slot)
	return b, b.Slot == slot
}

// equivocates says whether another block of the same proposer for the same slot is known.
func (f *forkChoice) equivocates(slot phase0.Slot, proposer phase0.ValidatorIndex, root phase0.Root) bool {
	for _, b := range f.slots[slot] {
		if b.ProposerIndex == proposer && b.Root != root {
			return true
		}
	}
	return false
}
