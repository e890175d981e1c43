package beacon

import (
	"bytes"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Block is what the consensus knows of a block. It is immutable. Whether it is on the chain depends
// on the fork choice (Canonical).
type Block struct {
	Slot          phase0.Slot
	Root          phase0.Root
	ParentRoot    phase0.Root
	ProposerIndex phase0.ValidatorIndex
	// BlockHash is that of the payload; from gloas on of the one that was bid, which may never come.
	BlockHash phase0.Hash32
	// BlockNumber and FeeRecipient are the payload's; in gloas the number is zero.
	BlockNumber  uint64
	FeeRecipient bellatrix.ExecutionAddress
	Fork         eth.Fork
	ArrivedAt    time.Time
	// Late says that the block came after the attestation deadline of its slot, when its committee
	// had voted already.
	Late bool

	// What the next block depends on.
	randao         [32]byte
	nextWithdrawal uint64
	// Of gloas only: the bid, and what builders own and owe after the block.
	bid      *gloas.ExecutionPayloadBid
	builders *epbs.State
	// What the API shows of the block.
	header *phase0.SignedBeaconBlockHeader
	signed codec // SignedBeaconBlock
}

// onFull says whether the block builds on its parent's payload. Before gloas every block does.
func (b *Block) onFull(parent *Block) bool {
	return b.bid == nil || b.bid.ParentBlockHash == parent.BlockHash
}

// payloadHash is the newest payload of the chain that ends with the block, with its own payload or
// without.
func (b *Block) payloadHash(status epbs.Status) phase0.Hash32 {
	if b.bid == nil || status == epbs.Full {
		return b.BlockHash
	}
	return b.bid.ParentBlockHash
}

// forkChoice selects the head among the known blocks: from the last final block on, it follows the
// child with the heavier subtree. A committee weighs 100 and proposer boost 40, since mainnet's
// boost is 40 percent of a committee. It is pure: time comes in as slots and votes. On a network
// that has gloas in its schedule, tree decides instead.
type forkChoice struct {
	slotsPerEpoch phase0.Slot
	blocks        map[phase0.Root]*Block
	children      map[phase0.Root][]*Block
	slots         map[phase0.Slot][]*Block    // all blocks of a slot, equivocations too
	votes         map[phase0.Slot]phase0.Root // of each slot's committee, since the final block
	genesis       *Block
	final         *Block // every head descends from it
	boosted       *Block // the first timely block of the present slot, if any
	tree          *payloadTree
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
	if f.tree != nil {
		f.tree.add(b, f.blocks[b.ParentRoot])
	}
}

// beginSlot ends the boost of the slot before. A block of the new slot that arrived before this
// call keeps its boost. Blocks that are two epochs old become final, and votes before them no
// longer count.
func (f *forkChoice) beginSlot(slot phase0.Slot) {
	if f.tree != nil {
		f.tree.beginSlot(slot)
	}
	if f.boosted != nil && f.boosted.Slot < slot {
		f.boosted = nil
	}
	edge := slot - slot%f.slotsPerEpoch
	if edge < finalAfter*f.slotsPerEpoch {
		return
	}
	edge -= finalAfter * f.slotsPerEpoch
	f.final = f.ancestor(f.head(), max(edge, f.final.Slot))
	if f.tree != nil {
		f.tree.finalize(f)
	}
	for voted := range f.votes {
		if voted < edge {
			delete(f.votes, voted)
		}
	}
}

// attest makes a slot's committee vote for the present head.
func (f *forkChoice) attest(slot phase0.Slot) {
	f.votes[slot] = f.head().Root
	if f.tree != nil {
		f.tree.attest(slot)
	}
}

// headNode is the head with its payload or without. Before gloas it is always FULL.
func (f *forkChoice) headNode() (*Block, epbs.Status) {
	if f.tree != nil {
		node := f.tree.head()
		return f.blocks[node.Root], node.Status
	}
	return f.head(), epbs.Full
}

// head returns the last block on the heaviest branch.
func (f *forkChoice) head() *Block {
	if f.tree != nil {
		return f.blocks[f.tree.head().Root]
	}
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
	if f.tree != nil {
		for root := range f.blocks {
			weights[root] = int(f.tree.Weight(root))
		}
		return weights
	}
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
// get_proposer_head), and whether on its payload. It is the head, unless the head came late, has no
// votes, and its parent is just one slot older: then it is the parent, and the head is orphaned.
func (f *forkChoice) proposerHead(slot phase0.Slot) (*Block, epbs.Status) {
	head, status := f.headNode()
	parent := f.blocks[head.ParentRoot]
	if head.Late && parent != nil && head.Slot+1 == slot && parent.Slot+1 == head.Slot && f.isWeak(head) {
		if f.tree == nil || f.tree.Revealed(parent.Root) && head.onFull(parent) {
			return parent, epbs.Full
		}
		return parent, epbs.Empty
	}
	if f.tree != nil && !f.tree.BuildOnFull(epbs.Node{Root: head.Root, Status: status}, slot) {
		return head, epbs.Empty
	}
	return head, status
}

// isWeak says whether a block has so few votes that the next proposer may build past it.
func (f *forkChoice) isWeak(b *Block) bool {
	if f.tree != nil {
		return f.tree.isWeak(b)
	}
	return f.weights()[b.Root] < weakHead
}

// status says whether a block of the chain that ends with the head has its payload there.
func (f *forkChoice) status(b *Block) epbs.Status {
	head, status := f.headNode()
	if b == head {
		return status
	}
	for head.Slot > b.Slot {
		parent := f.blocks[head.ParentRoot]
		if parent == b && head.onFull(parent) {
			return epbs.Full
		}
		head = parent
	}
	return epbs.Empty
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

// dependent returns the last block before an epoch on the chain that ends with b, genesis for the
// first epoch. On mainnet the duties of the epoch after it are drawn from what is known then.
func (f *forkChoice) dependent(b *Block, epoch phase0.Epoch) *Block {
	return f.ancestor(b, max(phase0.Slot(epoch)*f.slotsPerEpoch, 1)-1)
}

// mayDepend says whether a block is the last one before an epoch on any branch.
func (f *forkChoice) mayDepend(b *Block, epoch phase0.Epoch) bool {
	first := phase0.Slot(epoch) * f.slotsPerEpoch
	if b == f.genesis && first == 0 {
		return true
	}
	return b.Slot < first && (len(f.children[b.Root]) == 0 ||
		slices.ContainsFunc(f.children[b.Root], func(child *Block) bool { return child.Slot >= first }))
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
