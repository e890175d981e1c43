package bid

import (
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"
)

var (
	start    = time.Unix(1_700_000_000, 0)
	deadline = start.Add(6 * time.Second)
	mine     = phase0.Root{1}
	other    = phase0.Root{2}
)

// When the envelope may leave the relay.
func TestReveal(t *testing.T) {
	sold := Sale{}.Seen(mine, true)
	for name, row := range map[string]struct {
		sale Sale
		head phase0.Root
		at   time.Time
		why  Reason
	}{
		"sold and seen":                {sold, mine, start, ""},
		"the same block twice":         {sold.Seen(mine, true).Seen(mine, false), mine, start, ""},
		"a moment before the deadline": {sold, mine, deadline.Add(-1), ""},
		"at the deadline":              {sold, mine, deadline, PastDeadline},
		"not sold":                     {Sale{}, mine, start, NotSold},
		"a block with another's bid":   {Sale{}.Seen(other, false), other, start, NotSold},
		"not the head":                 {sold, phase0.Root{9}, start, NotSeen},
		"gossiped another one":         {sold.Seen(other, false), mine, start, Equivocation},
		"two blocks with our bid":      {sold.Seen(other, true), mine, start, Equivocation},
		"another one before":           {Sale{}.Seen(other, false).Seen(mine, true), mine, start, Equivocation},
	} {
		t.Run(name, func(t *testing.T) {
			after, block, why := row.sale.Reveal(row.head, row.at, deadline)
			if why != row.why || (why == "") != (block == mine) {
				t.Fatalf("%#x, %q; want %q", block[:1], why, row.why)
			}
			if _, _, again := after.Reveal(row.head, row.at, deadline); why == "" && again != Done {
				t.Errorf("it is revealed again: %q", again)
			}
		})
	}
}

// In any order of what happens, at most one envelope leaves the relay, of a block with its bid that
// is the head, before the deadline, and never after a second block of the proposer was seen.
func TestEquivocatorsGetNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sale Sale
		seen, ours, revealed := map[phase0.Root]bool{}, map[phase0.Root]bool{}, 0
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			block := phase0.Root{byte(rapid.IntRange(1, 3).Draw(t, "block"))}
			if rapid.Bool().Draw(t, "a block comes") {
				mine := rapid.Bool().Draw(t, "ours")
				sale = sale.Seen(block, mine)
				seen[block], ours[block] = true, ours[block] || mine
				continue
			}
			at := start.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "second")) * time.Second)
			var got phase0.Root
			var why Reason
			if sale, got, why = sale.Reveal(block, at, deadline); why != "" {
				continue
			}
			if revealed++; revealed > 1 || len(seen) != 1 || !ours[got] || got != block || !at.Before(deadline) {
				t.Fatalf("%#x is revealed at %v as number %d, with %d blocks seen", got[:1], at, revealed, len(seen))
			}
		}
	})
}
