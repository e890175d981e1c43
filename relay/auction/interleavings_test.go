package auction

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// seeds of the sequences; a failure names the one that it came from.
var seeds = []uint64{1, 2, 3, 5, 8, 13, 21, 34}

// TestInterleavings plays a million short sequences of submissions, replacements, cancellations and
// withdrawals, and compares the top with the model's after every step. TestBookAgainstModel finds
// the smallest sequence that goes wrong; this one looks for the rare one.
func TestInterleavings(t *testing.T) {
	values := make([]*uint256.Int, 6)
	for i := range values {
		values[i] = uint256.NewInt(uint64(i))
	}
	steps := 0
	for _, seed := range seeds {
		draw := rand.New(rand.NewPCG(seed, 0))
		for sequence := range interleavings / len(seeds) {
			steps += interleave(t, draw, values, seed, sequence)
		}
	}
	t.Logf("%d steps, no wrong top", steps)
}

// interleave plays one sequence of up to twelve steps and returns how many there were.
func interleave(t *testing.T, draw *rand.Rand, values []*uint256.Int, seed uint64, sequence int) int {
	t.Helper()
	var book Book
	var naive model
	length := 2 + draw.IntN(11)
	for step := range length {
		before := idOfTop(book.Top())
		builder := phase0.BLSPubKey{byte('a' + draw.IntN(3))}
		var outcome Outcome
		if draw.IntN(8) == 0 {
			outcome = book.Withdraw(builder, nil)
			naive.withdraw(builder)
		} else {
			bid := drawBid(draw, builder, values, step)
			outcome = book.Submit(bid)
			if taken := naive.submit(bid); taken == (outcome.Result == Outdated) {
				t.Fatalf("seed %d, sequence %d, step %d: result %v, but the model's answer to taking it is %v", seed, sequence,
					step, outcome.Result, taken)
			}
		}
		got, want := idOfTop(book.Top()), idOfTop(naive.top())
		if got != want || got != idOfTop(outcome.Top) {
			t.Fatalf("seed %d, sequence %d, step %d: top is that of step %d, want %d", seed, sequence, step, got, want)
		}
		if outcome.Changed != (got != before) {
			t.Fatalf("seed %d, sequence %d, step %d: changed is %v from %d to %d", seed, sequence, step,
				outcome.Changed, before, got)
		}
	}
	return length
}

// drawBid makes a final bid, a cancellable one that may have overtaken another on its way, or a
// sequenced one. Its hash tells its step.
func drawBid(draw *rand.Rand, builder phase0.BLSPubKey, values []*uint256.Int, step int) relay.Bid {
	bid := relay.Bid{
		Builder: builder, ValueWei: values[draw.IntN(len(values))], BlockHash: phase0.Hash32{byte(step + 1)},
		ReceivedAt: time.Unix(int64(step+draw.IntN(4)), 0),
	}
	switch draw.IntN(4) {
	case 0, 1:
		bid.Cancellable = true
	case 2:
		bid.Sequence = 1 + draw.Uint64N(5)
	}
	return bid
}

// idOfTop is the step, from 1, of the bid that leads; 0 if none does.
func idOfTop(bid *relay.Bid) int {
	if bid == nil {
		return 0
	}
	return int(bid.BlockHash[0])
}
