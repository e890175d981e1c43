package epbs

import (
	"bytes"
	"cmp"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Status says whose payload a node of the fork choice has: that of its own block (FULL), or that of
// an earlier one (EMPTY). PENDING is the block before that is decided. The numbers are those of the
// specification.
type Status uint8

// The statuses.
const (
	Empty Status = iota
	Full
	Pending
)

func (s Status) String() string { return [...]string{"empty", "full", "pending"}[s] }

// Node is a block with or without its payload.
type Node struct {
	Root   phase0.Root
	Status Status
}

// Leaf is a block of the fork choice.
type Leaf struct {
	Root, Parent phase0.Root
	Slot         phase0.Slot
	// OnFull: it builds on its parent's payload.
	OnFull bool
	// Whole: it is of a fork before gloas, and its payload is part of it.
	Whole bool
	// Late: it came when its slot's committee had voted, so that it gets no boost.
	Late bool
}

// Ballot is a validator's newest vote. Present says that the block's payload was there; it counts
// for votes in a later slot than the block's only.
type Ballot struct {
	Slot    phase0.Slot
	Root    phase0.Root
	Present bool
}

// Tree is the fork choice of gloas (consensus-specs, specs/gloas/fork-choice.md). From the anchor
// on it follows the heavier child: of a block its FULL or its EMPTY node, of these the blocks that
// build on them. It is for one goroutine; time comes in as slots.
type Tree struct {
	anchor   phase0.Root
	now      phase0.Slot
	leaves   map[phase0.Root]*Leaf
	children map[Node][]phase0.Root
	revealed map[phase0.Root]bool
	ballots  map[phase0.ValidatorIndex]Ballot
	stake    func(phase0.ValidatorIndex) phase0.Gwei
	boosted  phase0.Root // the first timely block of the present slot; zero if there is none
	boost    phase0.Gwei
	verdicts map[phase0.Root]*verdicts
	members  int
}

// verdicts are what the payload timeliness committee says of a block, by place in the committee.
type verdicts struct{ present, available map[int]bool }

// TreeRules are what is the same for the whole life of a tree.
type TreeRules struct {
	// Stake returns what a validator's vote weighs, Boost what being first in the present slot does.
	Stake func(phase0.ValidatorIndex) phase0.Gwei
	Boost phase0.Gwei
	// Members is the size of the payload timeliness committee (PTC_SIZE).
	Members int
}

// NewTree returns a fork choice that begins with a block whose payload is known.
func NewTree(r TreeRules, anchor Leaf) *Tree {
	t := &Tree{
		anchor: anchor.Root, now: anchor.Slot, leaves: map[phase0.Root]*Leaf{}, children: map[Node][]phase0.Root{},
		revealed: map[phase0.Root]bool{anchor.Root: true}, ballots: map[phase0.ValidatorIndex]Ballot{}, stake: r.Stake,
		boost: r.Boost, verdicts: map[phase0.Root]*verdicts{}, members: r.Members,
	}
	t.leaves[anchor.Root] = &anchor
	return t
}

// BeginSlot ends the boost of the slot before. A block that has come a little early keeps its own.
func (t *Tree) BeginSlot(slot phase0.Slot) {
	t.now = slot
	if b := t.leaves[t.boosted]; b != nil && b.Slot < slot {
		t.boosted = phase0.Root{}
	}
}

// Add takes a block whose parent is in the tree; false if it is not, or if the block builds on a
// payload that was not revealed.
func (t *Tree) Add(b Leaf) bool {
	if t.leaves[b.Root] != nil {
		return true
	}
	parent := t.leaves[b.Parent]
	if parent == nil || b.Slot <= parent.Slot || b.OnFull && !t.revealed[b.Parent] || parent.Whole && !b.OnFull {
		return false
	}
	t.leaves[b.Root] = &b
	on := Node{b.Parent, statusOf(b.OnFull)}
	t.children[on] = append(t.children[on], b.Root)
	t.revealed[b.Root] = b.Whole
	if boosted := t.leaves[t.boosted]; !b.Late && (boosted == nil || boosted.Slot < b.Slot) {
		t.boosted = b.Root
	}
	return true
}

func statusOf(full bool) Status {
	if full {
		return Full
	}
	return Empty
}

// Reveal says that a block's payload is there and valid.
func (t *Tree) Reveal(root phase0.Root) {
	if t.leaves[root] != nil {
		t.revealed[root] = true
	}
}

// Revealed says whether a block's payload is there.
func (t *Tree) Revealed(root phase0.Root) bool { return t.revealed[root] }

// Attest takes a validator's vote, unless it has a newer one. Votes for blocks that are unknown, or
// younger than the vote, are not taken.
func (t *Tree) Attest(validator phase0.ValidatorIndex, v Ballot) {
	if b := t.leaves[v.Root]; b == nil || b.Slot > v.Slot {
		return
	}
	if before, has := t.ballots[validator]; !has || before.Slot < v.Slot {
		t.ballots[validator] = v
	}
}

// Testify takes what a member of the payload timeliness committee says of a block of its slot. The
// member is a place in the committee: a validator may have several.
func (t *Tree) Testify(member int, root phase0.Root, present, available bool) {
	if t.leaves[root] == nil || member < 0 || member >= t.members {
		return
	}
	if t.verdicts[root] == nil {
		t.verdicts[root] = &verdicts{map[int]bool{}, map[int]bool{}}
	}
	if _, has := t.verdicts[root].present[member]; !has { // the first word counts
		t.verdicts[root].present[member], t.verdicts[root].available[member] = present, available
	}
}

// Timely says whether more than half of the committee has seen a block's payload and its blobs in
// time, and the payload is here.
func (t *Tree) Timely(root phase0.Root) bool {
	v := t.verdicts[root]
	return v != nil && t.revealed[root] && t.majority(v.present) && t.majority(v.available)
}

// Votes returns how many members of the committee say that a block's payload was there in time, and
// how many that its blobs were.
func (t *Tree) Votes(root phase0.Root) (present, available int) {
	v := t.verdicts[root]
	if v == nil {
		return 0, 0
	}
	return count(v.present), count(v.available)
}

// Vote returns what a member has said of a block; ok is false if it has said nothing.
func (t *Tree) Vote(member int, root phase0.Root) (present, available, ok bool) {
	v := t.verdicts[root]
	if v == nil {
		return false, false, false
	}
	present, ok = v.present[member]
	return present, v.available[member], ok
}

func count(said map[int]bool) (yes int) {
	for _, is := range said {
		if is {
			yes++
		}
	}
	return yes
}

func (t *Tree) majority(said map[int]bool) bool { return 2*count(said) > t.members }

// Head returns the node at the end of the heaviest branch.
func (t *Tree) Head() Node {
	weights := t.weights()
	at := Node{t.anchor, Pending}
	for {
		next := t.below(at)
		if len(next) == 0 {
			return at
		}
		best := next[0]
		for _, n := range next[1:] {
			if t.compare(weights, n, best) > 0 {
				best = n
			}
		}
		at = best
	}
}

// below lists the nodes that follow one.
func (t *Tree) below(n Node) []Node {
	if n.Status == Pending {
		switch {
		case t.leaves[n.Root].Whole || n.Root == t.anchor:
			return []Node{{n.Root, Full}}
		case t.revealed[n.Root]:
			return []Node{{n.Root, Empty}, {n.Root, Full}}
		}
		return []Node{{n.Root, Empty}}
	}
	var list []Node
	for _, root := range t.children[n] {
		list = append(list, Node{root, Pending})
	}
	return list
}

// compare orders nodes that follow the same one: by weight, then by root, then by the rule for a
// payload of the slot before.
func (t *Tree) compare(weights map[Node]phase0.Gwei, a, b Node) int {
	return cmp.Or(
		cmp.Compare(t.weight(weights, a), t.weight(weights, b)),
		bytes.Compare(a.Root[:], b.Root[:]),
		cmp.Compare(t.preference(a), t.preference(b)),
	)
}

// weight is a node's weight. Whether a payload of the slot before counts is not decided by votes:
// there are none yet that could know.
func (t *Tree) weight(weights map[Node]phase0.Gwei, n Node) phase0.Gwei {
	if n.Status != Pending && t.leaves[n.Root].Slot+1 == t.now {
		return 0
	}
	return weights[n]
}

// preference decides between FULL and EMPTY of the same weight (get_payload_status_tiebreaker).
func (t *Tree) preference(n Node) int {
	switch {
	case n.Status == Pending || t.leaves[n.Root].Slot+1 != t.now:
		return int(n.Status)
	case n.Status == Empty:
		return 1
	case t.extend(n.Root):
		return 2
	default:
		return 0
	}
}

// extend says whether the payload of a block of the slot before is to be built on
// (should_extend_payload): the committee has seen it in time, or no boosted block leaves it out.
func (t *Tree) extend(root phase0.Root) bool {
	boosted := t.leaves[t.boosted]
	return t.Timely(root) || boosted == nil || boosted.Parent != root || boosted.OnFull
}

// Weight is what the votes for a block and for those that build on it weigh, with the boost.
func (t *Tree) Weight(root phase0.Root) phase0.Gwei { return t.weights()[Node{root, Pending}] }

// Finalize makes a block the one from which on the head is searched, and forgets all blocks that do
// not descend from it, with their votes. Its payload must be revealed, and the head must build on
// it. A block that is unknown changes nothing.
func (t *Tree) Finalize(root phase0.Root) {
	if t.leaves[root] == nil || root == t.anchor || !t.revealed[root] {
		return
	}
	t.anchor = root
	for other := range t.leaves {
		if !t.descends(other) {
			delete(t.leaves, other)
			delete(t.revealed, other)
			delete(t.verdicts, other)
			delete(t.children, Node{other, Empty})
			delete(t.children, Node{other, Full})
		}
	}
	delete(t.children, Node{root, Empty})
	for validator, v := range t.ballots {
		if t.leaves[v.Root] == nil {
			delete(t.ballots, validator)
		}
	}
	if t.leaves[t.boosted] == nil {
		t.boosted = phase0.Root{}
	}
}

// descends says whether a block is the anchor, or builds on the anchor's payload.
func (t *Tree) descends(root phase0.Root) bool {
	anchor := t.leaves[t.anchor]
	for b := t.leaves[root]; b != nil && b.Slot >= anchor.Slot; b = t.leaves[b.Parent] {
		if b == anchor || b.Parent == t.anchor && b.OnFull {
			return true
		}
	}
	return false
}

// BuildOnFull says whether the proposer of a slot builds on the payload of a head: one of the slot
// before must have been seen in time by the committee.
func (t *Tree) BuildOnFull(head Node, slot phase0.Slot) bool {
	b := t.leaves[head.Root]
	return head.Status == Full && (b.Whole || head.Root == t.anchor || b.Slot+1 < slot || t.Timely(head.Root))
}

// weights adds up what votes and the boost weigh, for all nodes.
func (t *Tree) weights() map[Node]phase0.Gwei {
	weights := map[Node]phase0.Gwei{}
	for validator, v := range t.ballots {
		t.support(weights, v, t.stake(validator))
	}
	if t.boosted != (phase0.Root{}) {
		t.support(weights, Ballot{Slot: t.now, Root: t.boosted}, t.boost)
	}
	return weights
}

// support adds a vote's weight to the block that it is for, to the FULL or EMPTY node if it could
// know of the payload, and to all nodes that these build on.
func (t *Tree) support(weights map[Node]phase0.Gwei, v Ballot, weight phase0.Gwei) {
	b := t.leaves[v.Root]
	if v.Slot > b.Slot {
		weights[Node{b.Root, statusOf(v.Present)}] += weight
	}
	for {
		weights[Node{b.Root, Pending}] += weight
		parent := t.leaves[b.Parent]
		if b.Root == t.anchor || parent == nil {
			return
		}
		weights[Node{parent.Root, statusOf(b.OnFull)}] += weight
		b = parent
	}
}
