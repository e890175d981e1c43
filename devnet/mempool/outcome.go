package mempool

import (
	"fmt"
	"maps"
	"slices"
)

// Outcome is what became of a plan.
type Outcome struct {
	*Plan
	// Reached steps had their time before the run ended. The node took Accepted of them, and refused
	// the others, by reason.
	Reached, Accepted int64
	Refused           Counts
	// Replaced were taken, and then another one with the same nonce; Included nonces are on the chain.
	Replaced, Included int64
}

// Waiting is how many transactions were in the pool at the end, or dropped from it.
func (o *Outcome) Waiting() int64 { return o.Accepted - o.Replaced - o.Included }

// Lines are the outcome as a small table: each row of the file is in one of them, but for what was
// changed.
func (o *Outcome) Lines() []string {
	lines := []string{
		row("transactions", o.Rows), row("  sent", o.Accepted), row("    included", o.Included),
		row("    replaced", o.Replaced), row("    not included", o.Waiting()),
	}
	add := func(title, name string, counts Counts) {
		if len(counts) == 0 {
			return
		}
		sum := int64(0)
		for _, n := range counts {
			sum += n
		}
		lines = append(lines, row(title, sum))
		lines = append(lines, byReason(name, counts)...)
	}
	left := maps.Clone(o.Left)
	if n := int64(len(o.Steps)) - o.Reached; n > 0 {
		left[WhyEnd] += n
	}
	add("  left out", "    ", left)
	add("  refused by the node", "    ", o.Refused)
	if len(o.Changed) > 0 {
		lines = append(lines, fmt.Sprintf("of the %d to be sent, on %d accounts", len(o.Steps), o.Senders))
		lines = append(lines, byReason("  ", o.Changed)...)
	}
	return lines
}

func byReason(indent string, counts Counts) (lines []string) {
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, row(indent+why, counts[why]))
	}
	return lines
}

func row(title string, n int64) string { return fmt.Sprintf("%-72s%10d", title, n) }
