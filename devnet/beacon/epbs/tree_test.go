package epbs

import (
	"bytes"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"
)

// tree is a fork choice with one committee member and one validator a name, which begins with block
// 0 of slot 0. Every vote weighs 100, the boost 40; the payload committee has 4 members.
func tree() *Tree {
	return NewTree(TreeRules{
		Stake: func(phase0.ValidatorIndex) phase0.Gwei { return 100 }, Boost: 40, Members: 4,
	}, Leaf{})
}

func rootOf(n byte) phase0.Root { return phase0.Root{n} }

func say(t *Tree, root byte, present, available int) {
	for member := range 4 {
		t.Testify(member, rootOf(root), member < present, member < available)
	}
}

// A block is EMPTY until its payload is there. Then it is FULL, until somebody with the boost
// leaves the payload out and the committee has not seen it in time, or votes of later slots decide.
func TestFullAndEmpty(t *testing.T) {
	for name, row := range map[string]struct {
		story func(*Tree)
		want  Node
	}{
		"not revealed": {func(*Tree) {}, Node{rootOf(1), Empty}},
		"revealed":     {func(f *Tree) { f.Reveal(rootOf(1)) }, Node{rootOf(1), Full}},
		"revealed, and nobody saw it in time": {func(f *Tree) {
			f.Reveal(rootOf(1))
			say(f, 1, 0, 0)
		}, Node{rootOf(1), Full}},
		"left out by the next block, not in time": {func(f *Tree) {
			f.Reveal(rootOf(1))
			say(f, 1, 2, 4)
			f.Add(Leaf{Root: rootOf(2), Parent: rootOf(1), Slot: 2})
		}, Node{rootOf(2), Empty}},
		"left out by the next block, though in time": {func(f *Tree) {
			f.Reveal(rootOf(1))
			say(f, 1, 3, 3)
			f.Add(Leaf{Root: rootOf(2), Parent: rootOf(1), Slot: 2})
		}, Node{rootOf(1), Full}},
		"left out, blobs not in time": {func(f *Tree) {
			f.Reveal(rootOf(1))
			say(f, 1, 4, 2)
			f.Add(Leaf{Root: rootOf(2), Parent: rootOf(1), Slot: 2})
		}, Node{rootOf(2), Empty}},
		"left out by a late block": {func(f *Tree) {
			f.Reveal(rootOf(1))
			f.Add(Leaf{Root: rootOf(2), Parent: rootOf(1), Slot: 2, Late: true})
		}, Node{rootOf(1), Full}},
		"built on": {func(f *Tree) {
			f.Reveal(rootOf(1))
			f.Add(Leaf{Root: rootOf(2), Parent: rootOf(1), Slot: 2, OnFull: true})
			f.Reveal(rootOf(2))
		}, Node{rootOf(2), Full}},
		"votes of later slots decide for EMPTY": {func(f *Tree) {
			f.Reveal(rootOf(1))
			f.BeginSlot(3)
			f.Attest(1, Ballot{Slot: 2, Root: rootOf(1), Present: true})
			f.Attest(2, Ballot{Slot: 2, Root: rootOf(1)})
			f.Attest(3, Ballot{Slot: 2, Root: rootOf(1)})
		}, Node{rootOf(1), Empty}},
		"votes of the same slot do not": {func(f *Tree) {
			f.Reveal(rootOf(1))
			f.BeginSlot(3)
			f.Attest(2, Ballot{Slot: 1, Root: rootOf(1)})
		}, Node{rootOf(1), Full}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tree()
			f.BeginSlot(1)
			f.Add(Leaf{Root: rootOf(1), Parent: rootOf(0), Slot: 1, OnFull: true})
			f.BeginSlot(2)
			row.story(f)
			if got := f.Head(); got != row.want {
				t.Errorf("head %v, want %v", got, row.want)
			}
		})
	}
}

// The proposer builds on the payload of the slot before only if the committee saw it in time, and
// on an older one if the votes say so. The newest block of a fork before counts with its payload.
func TestBuildOnFull(t *testing.T) {
	f := tree()
	f.Add(Leaf{Root: rootOf(1), Parent: rootOf(0), Slot: 1, OnFull: true, Whole: true})
	if head := f.Head(); head != (Node{rootOf(1), Full}) || !f.BuildOnFull(head, 2) {
		t.Errorf("a block of fulu: %v", head)
	}
	if f.Add(Leaf{Root: rootOf(9), Parent: rootOf(1), Slot: 2}) {
		t.Error("the payload of a block of fulu is left out")
	}
	f.Add(Leaf{Root: rootOf(2), Parent: rootOf(1), Slot: 2, OnFull: true})
	if f.Add(Leaf{Root: rootOf(9), Parent: rootOf(2), Slot: 3, OnFull: true}) {
		t.Error("a block builds on a payload that nobody has")
	}
	f.Reveal(rootOf(2))
	f.BeginSlot(3)
	say(f, 2, 2, 2)
	if head := f.Head(); head != (Node{rootOf(2), Full}) || f.BuildOnFull(head, 3) || !f.BuildOnFull(head, 4) {
		t.Errorf("not seen in time: %v", head)
	}
	say(f, 2, 4, 4) // the first word of each member counts
	if f.BuildOnFull(f.Head(), 3) {
		t.Error("members vote twice")
	}
}

// specified is the weight of a node by the words of the specification: the sum of all votes that
// support it (get_weight, is_supporting_vote, get_ancestor).
func (t *Tree) specified(n Node) (sum phase0.Gwei) {
	supports := func(v Ballot) bool {
		block := t.leaves[n.Root]
		if n.Root == v.Root {
			return n.Status == Pending || v.Slot > block.Slot && n.Status == statusOf(v.Present)
		}
		at, status := t.leaves[v.Root], Pending
		for at.Slot > block.Slot {
			status = statusOf(at.OnFull)
			at = t.leaves[at.Parent]
		}
		return at.Root == n.Root && (n.Status == Pending || n.Status == status)
	}
	for validator, v := range t.ballots {
		if supports(v) {
			sum += t.stake(validator)
		}
	}
	if t.boosted != (phase0.Root{}) && supports(Ballot{Slot: t.now, Root: t.boosted}) {
		sum += t.boost
	}
	return sum
}

// In any tree, weights are those of the specification, and each step to the head goes to a node
// that no other outweighs. A head never builds on what was not revealed.
func TestTreeIsThatOfTheSpecification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, roots := tree(), []phase0.Root{{}}
		for slot := phase0.Slot(1); slot <= 10; slot++ {
			f.BeginSlot(slot)
			for range rapid.IntRange(0, 2).Draw(t, "blocks") {
				b := Leaf{
					Root: rootOf(byte(len(roots))), Slot: slot, Late: rapid.Bool().Draw(t, "late"),
					Parent: rapid.SampledFrom(roots).Draw(t, "parent"), OnFull: rapid.Bool().Draw(t, "on full"),
				}
				// The boost counts as a vote of the present slot that knows of no payload, and its block is
				// of that slot: so it never decides between FULL and EMPTY of its own block.
				if f.Add(b) {
					roots = append(roots, b.Root)
				}
			}
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				root := rapid.SampledFrom(roots).Draw(t, "of")
				switch rapid.IntRange(0, 2).Draw(t, "event") {
				case 0:
					f.Reveal(root)
				case 1:
					f.Attest(phase0.ValidatorIndex(rapid.IntRange(0, 5).Draw(t, "validator")),
						Ballot{slot, root, rapid.Bool().Draw(t, "present")})
				case 2:
					f.Testify(rapid.IntRange(0, 3).Draw(t, "member"), root, rapid.Bool().Draw(t, "seen"), true)
				}
			}
			weights := f.weights()
			for _, root := range roots {
				for _, status := range []Status{Empty, Full, Pending} {
					if n := (Node{root, status}); weights[n] != f.specified(n) {
						t.Fatalf("%v weighs %d, by the specification %d", n, weights[n], f.specified(n))
					}
				}
			}
			f.wantHead(t, weights)
		}
	})
}

// wantHead goes back from the head, and requires of each step that nothing beside it is heavier.
func (t *Tree) wantHead(tb *rapid.T, weights map[Node]phase0.Gwei) {
	head := t.Head()
	if head.Status == Pending || len(t.below(head)) > 0 {
		tb.Fatalf("the head %v is not at the end of a branch", head)
	}
	for at := head; ; {
		if at.Status == Full && !t.revealed[at.Root] {
			tb.Fatalf("%v is on the head's branch, and was not revealed", at)
		}
		before := Node{at.Root, Pending}
		if at.Status == Pending {
			if at.Root == t.anchor {
				return
			}
			before = Node{t.leaves[at.Root].Parent, statusOf(t.leaves[at.Root].OnFull)}
		}
		for _, other := range t.below(before) {
			mine, others := t.weight(weights, at), t.weight(weights, other)
			if others > mine || others == mine && bytes.Compare(other.Root[:], at.Root[:]) > 0 {
				tb.Fatalf("%v with %d is heavier than %v with %d", other, others, at, mine)
			}
		}
		at = before
	}
}
