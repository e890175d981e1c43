package bid

import (
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Sale is what is known of one proposer's blocks for one slot. It is a value: its methods return
// what it is afterwards. The zero value is a slot without a block.
type Sale struct {
	blocks   []phase0.Root // with a valid signature of the proposer, each once
	ours     []phase0.Root // those of them that have one of the relay's bids
	revealed phase0.Root   // the block whose envelope was handed out
}

// Seen takes note of a block with a valid signature of the slot's proposer, wherever it came from;
// ours says that it has a bid of the relay.
func (s Sale) Seen(block phase0.Root, ours bool) Sale {
	if !slices.Contains(s.blocks, block) {
		s.blocks = append(slices.Clone(s.blocks), block)
	}
	if ours && !slices.Contains(s.ours, block) {
		s.ours = append(slices.Clone(s.ours), block)
	}
	return s
}

// Equivocated says that the proposer has signed two blocks. It can be slashed for that, and
// builders could take each other's transactions out of the payload if it were revealed.
func (s Sale) Equivocated() bool { return len(s.blocks) > 1 }

// IsRevealed says that an envelope was handed out.
func (s Sale) IsRevealed() bool { return s.revealed != (phase0.Root{}) }

// Why an envelope is not revealed.
const (
	NotSold      Reason = "not-sold"        // no block has the relay's bid
	Equivocation Reason = "equivocation"    // the proposer has signed two blocks
	NotSeen      Reason = "not-seen"        // the beacon nodes do not have the block as their head
	PastDeadline Reason = "past-deadline"   // the committee has looked for the payload already
	Done         Reason = "revealed-before" // it was handed out
)

// Reveal decides whether the envelope is handed out now: head is the newest block by the beacon
// nodes, deadline the time by which the committee must have the payload. Without a reason the
// envelope of the block that it returns may leave the relay, and never another one of the slot.
func (s Sale) Reveal(head phase0.Root, at, deadline time.Time) (Sale, phase0.Root, Reason) {
	switch {
	case s.IsRevealed():
		return s, phase0.Root{}, Done
	case len(s.ours) == 0:
		return s, phase0.Root{}, NotSold
	case s.Equivocated():
		return s, phase0.Root{}, Equivocation
	case head != s.ours[0]:
		return s, phase0.Root{}, NotSeen
	case !at.Before(deadline):
		return s, phase0.Root{}, PastDeadline
	}
	s.revealed = s.ours[0]
	return s, s.revealed, ""
}
