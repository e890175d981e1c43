package display

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/holiman/uint256"
)

// Flow counts what happened to orders, from users to refunds.
type Flow struct {
	// Orders came in, and Cancelled of them were cancelled. Hints were sent to searchers. Backruns
	// were matched with the order that a hint was about, and Landed of them are in a block.
	Orders, Cancelled, Hints, Backruns, Landed int
	// Refunds is how many were found paid on the chain, RefundedWei their sum; nil means nothing.
	Refunds     int
	RefundedWei *uint256.Int
}

// Less returns what was added since an earlier count.
func (f Flow) Less(earlier Flow) Flow {
	f.Orders -= earlier.Orders
	f.Cancelled -= earlier.Cancelled
	f.Hints -= earlier.Hints
	f.Backruns -= earlier.Backruns
	f.Landed -= earlier.Landed
	f.Refunds -= earlier.Refunds
	if f.RefundedWei != nil && earlier.RefundedWei != nil {
		f.RefundedWei = new(uint256.Int).Sub(f.RefundedWei, earlier.RefundedWei)
	}
	return f
}

// none says whether all counts are zero.
func (f Flow) none() bool {
	return f.Orders == 0 && f.Cancelled == 0 && f.Hints == 0 && f.Backruns == 0 && f.Landed == 0 && f.Refunds == 0
}

// way shows the counts from orders to landed backruns in one line, back what was refunded.
func (f Flow) way() string {
	return strings.Join([]string{
		plural(f.Orders, "order", "orders"), plural(f.Hints, "hint", "hints"), plural(f.Backruns, "backrun", "backruns"),
		plural(f.Landed, "landed", "landed"),
	}, arrow)
}

func (f Flow) back() string { return Ether(f.RefundedWei) + " back" }

const arrow = " ▸ "

// lines shows the counts in one line, or in two if one is too long for the width; 0 means no limit.
func (f Flow) lines(width int) []string {
	line := f.way() + arrow + f.back()
	if width <= 0 || ansi.StringWidth(line) <= width {
		return []string{line}
	}
	return []string{f.way(), f.back()}
}
