package beacon

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// tree builds a fork choice from a story; blocks are named by one letter, genesis is "g".
type tree struct {
	t      *testing.T
	choice *forkChoice
}

func newTree(t *testing.T) *tree {
	return &tree{t, newForkChoice(&Block{Root: phase0.Root{'g'}}, 4)}
}

func (f *tree) block(name, parent byte, slot phase0.Slot, late bool) {
	f.choice.add(&Block{Root: phase0.Root{name}, ParentRoot: phase0.Root{parent}, Slot: slot, Late: late})
}

func headFor(f *forkChoice, slot phase0.Slot) *Block {
	head, _ := f.proposerHead(slot)
	return head
}

func (f *tree) wantHead(want byte) {
	f.t.Helper()
	if got := f.choice.head().Root[0]; got != want {
		f.t.Errorf("head %c, want %c", got, want)
	}
}

func TestChainWithoutForks(t *testing.T) {
	f := newTree(t)
	f.wantHead('g')
	for i, name := range []byte("abc") {
		slot := phase0.Slot(i + 1)
		f.choice.beginSlot(slot)
		parent := byte('g')
		if i > 0 {
			parent = name - 1
		}
		f.block(name, parent, slot, false)
		f.choice.attest(slot)
		f.wantHead(name)
	}
	if b, ok := f.choice.canonical(2); !ok || b.Root[0] != 'b' {
		t.Error("slot 2 has block b")
	}
	if _, ok := f.choice.canonical(9); ok {
		t.Error("slot 9 has a block")
	}
}

// A late block is the head as long as nothing else is there, but the next proposer builds past it
// and it is orphaned.
func TestLateBlockIsOrphaned(t *testing.T) {
	f := newTree(t)
	f.choice.beginSlot(1)
	f.block('a', 'g', 1, false)
	f.choice.attest(1)
	f.choice.beginSlot(2)
	f.choice.attest(2) // for a: nothing came in time
	f.block('b', 'a', 2, true)
	f.wantHead('b')
	if got := headFor(f.choice, 3).Root[0]; got != 'a' {
		t.Errorf("the proposer of slot 3 builds on %c, want a", got)
	}
	f.choice.beginSlot(3)
	f.block('c', 'a', 3, false)
	f.wantHead('c') // boosted
	f.choice.attest(3)
	f.choice.beginSlot(4)
	f.wantHead('c') // and voted for
	if _, ok := f.choice.canonical(2); ok {
		t.Error("the late block is still canonical")
	}
}

// A late block that has votes, or whose parent is older than one slot, is not built past.
func TestLateBlockThatStays(t *testing.T) {
	f := newTree(t)
	f.choice.beginSlot(1)
	f.block('a', 'g', 1, true)
	f.choice.attest(1) // it came before its committee voted after all
	if got := headFor(f.choice, 2).Root[0]; got != 'a' {
		t.Errorf("builds on %c, want a: it has votes", got)
	}
	f = newTree(t)
	f.choice.beginSlot(5)
	f.choice.attest(5)
	f.block('a', 'g', 5, true)
	if got := headFor(f.choice, 6).Root[0]; got != 'a' {
		t.Errorf("builds on %c, want a: its parent is five slots old", got)
	}
}

func TestBoostLastsOneSlotAndVotesOutweighIt(t *testing.T) {
	f := newTree(t)
	f.choice.beginSlot(1)
	f.block('a', 'g', 1, false)
	f.choice.attest(1)
	f.choice.beginSlot(2)
	f.block('b', 'g', 2, false) // boosted, but a has a committee
	f.wantHead('a')
	f.choice.beginSlot(3)
	f.wantHead('a')
}

// A block that is quicker than the slot's own tick keeps its boost; a second block of the slot
// never takes it over.
func TestBoostIsTheFirstBlocks(t *testing.T) {
	f := newTree(t)
	f.block('b', 'g', 1, false)
	f.choice.beginSlot(1)
	f.block('c', 'g', 1, false) // wins at equal weight, by its root
	f.wantHead('b')
	f.choice.beginSlot(2)
	f.wantHead('c')
}

// What is two epochs old is final: a heavier chain beside it no longer counts, and neither do votes
// from before.
func TestFinality(t *testing.T) {
	f := newTree(t) // epochs of 4 slots
	parent := byte('g')
	for i, name := range []byte("abcdefghijkl") {
		slot := phase0.Slot(i + 1)
		f.choice.beginSlot(slot)
		if name == 'g' {
			continue // slot 7 is missed, and the letter is taken
		}
		f.block(name, parent, slot, false)
		f.choice.attest(slot)
		parent = name
	}
	if f.choice.final.Root[0] != 'd' || len(f.choice.votes) != 8 { // slots 4 to 12 but 7
		t.Errorf("in epoch 3, slot %d is final and %d votes count", f.choice.final.Slot, len(f.choice.votes))
	}
	for slot := phase0.Slot(13); slot <= 15; slot++ { // missed: nothing comes of it
		f.choice.beginSlot(slot)
	}
	f.choice.beginSlot(16)
	if f.choice.final.Root[0] != 'h' {
		t.Errorf("in epoch 4, slot %d is final", f.choice.final.Slot)
	}
	f.block('z', 'f', 16, false) // beside what is final
	f.wantHead('l')
	if b := f.choice.checkpoint(f.choice.head(), 3, 1); b.Slot != 8 {
		t.Errorf("the epoch before began with slot %d", b.Slot)
	}
	if b := f.choice.checkpoint(f.choice.head(), 1, 2); b != f.choice.genesis {
		t.Errorf("before epoch 0 there is slot %d", b.Slot)
	}
}

// The common block of two ways is where a re-organisation began.
func TestFork(t *testing.T) {
	f := newTree(t)
	f.block('a', 'g', 1, false)
	f.block('b', 'a', 2, true)
	f.block('c', 'a', 3, false)
	f.block('d', 'c', 4, false)
	for _, row := range []struct {
		a, b, want byte
	}{{'b', 'd', 'a'}, {'d', 'b', 'a'}, {'c', 'd', 'c'}, {'d', 'd', 'd'}, {'g', 'd', 'g'}} {
		got := f.choice.fork(f.choice.blocks[phase0.Root{row.a}], f.choice.blocks[phase0.Root{row.b}])
		if got.Root[0] != row.want {
			t.Errorf("%c and %c part at %c, want %c", row.a, row.b, got.Root[0], row.want)
		}
	}
}

func TestEquivocation(t *testing.T) {
	f := newTree(t)
	f.block('a', 'g', 1, false)
	if f.choice.equivocates(1, 0, phase0.Root{'a'}) || !f.choice.equivocates(1, 0, phase0.Root{'x'}) ||
		f.choice.equivocates(2, 0, phase0.Root{'x'}) {
		t.Error("an equivocation is another block of the same proposer for the same slot")
	}
}

func TestScheduleIsFairAndShuffled(t *testing.T) {
	s, other := schedule{validators: 8, seed: 1}, schedule{validators: 8, seed: 2}
	differs := false
	for round := range phase0.Slot(3) {
		seen := map[phase0.ValidatorIndex]bool{}
		for slot := round * 8; slot < round*8+8; slot++ {
			seen[s.proposer(slot)] = true
			differs = differs || s.proposer(slot) != other.proposer(slot)
		}
		if len(seen) != 8 {
			t.Errorf("round %d: %d validators propose, want all 8", round, len(seen))
		}
	}
	if !differs {
		t.Error("another seed gives the same order")
	}
}

func TestWithdrawalsGoRound(t *testing.T) {
	first, second := withdrawals(0, 6), withdrawals(4, 6)
	if len(first) != 4 || first[3].Index != 3 || first[3].ValidatorIndex != 3 {
		t.Errorf("%v", first)
	}
	if second[0].Index != 4 || second[2].ValidatorIndex != 0 || second[0].Address == first[0].Address {
		t.Errorf("%v", second)
	}
	if len(withdrawals(0, 2)) != 2 {
		t.Error("nobody is given something twice in a block")
	}
}

func TestRandaoMixes(t *testing.T) {
	mix := mixReveal([32]byte{}, phase0.BLSSignature{1})
	if mix == ([32]byte{}) || mixReveal(mix, phase0.BLSSignature{1}) != ([32]byte{}) {
		t.Error("a reveal is mixed in by xor of its hash")
	}
	if root := epochRoot(0x0102); root[0] != 2 || root[1] != 1 || root[2] != 0 {
		t.Errorf("%x: the root of an epoch is its little-endian number", root)
	}
}
