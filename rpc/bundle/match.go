package bundle

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// maxMatchDepth is how deep bundles may be nested after a match: simulators allow no more
// (docs/spec.md, Matching 4).
const maxMatchDepth = 5

// WantedMatch is the double hash of the order that this order wants to follow, nil if it follows
// none: only the first element may be a hash.
func WantedMatch(order *rpc.Order) *common.Hash {
	if len(order.Bundle.Elements) == 0 {
		return nil
	}
	return order.Bundle.Elements[0].Match
}

// JoinMatch returns the order with target in place of its hash. Neither of the two is changed. The
// result keeps the order's own hash, signer and elements. Refunds are set by the target's terms.
// The blocks and builders are those that both orders are for. Its hints are removed, so that it is
// not announced.
//
// The caller has found the target by its double hash, so it is alive and was announced. JoinMatch
// refuses with rpc.BackrunInvalidBundle if the target does not share its hash or bundles would be
// nested too deep, and with rpc.BackrunInvalidInclusion if no block is for both.
func JoinMatch(order, target *rpc.Order) (*rpc.Order, error) {
	if target.Bundle.Hints&orderflow.Hash == 0 || 1+depthOf(&target.Bundle) > maxMatchDepth {
		return nil, rpc.BackrunInvalidBundle.Plain()
	}
	window, ok := commonWindow(order.Bundle.Window, target.Bundle.Window)
	if !ok {
		return nil, rpc.BackrunInvalidInclusion.Plain() // does not reveal which blocks the target is for
	}
	joined := *order
	joined.Follows = target.ID
	joined.Builders, joined.AllBuilders = commonBuilders(order, target)
	joined.Bundle.Window, joined.Bundle.Hints = window, 0
	joined.Bundle.Refunds = nil
	if percent := target.Bundle.WantRefundPercent; percent > 0 {
		joined.Bundle.Refunds = []rpc.ElementRefund{{Element: 0, Percent: percent}}
	}
	joined.Bundle.Elements = slices.Clone(order.Bundle.Elements)
	joined.Bundle.Elements[0] = rpc.Element{Bundle: asElement(&target.Bundle)}
	return &joined, nil
}

// asElement is a target as an element. It has no window and no hints, since those of the outer
// bundle count now.
func asElement(target *rpc.Bundle) *rpc.Bundle {
	b := *target
	b.Window, b.Hints = rpc.Window{}, 0
	return &b
}

// depthOf is how deep bundles are nested, including the bundle itself.
func depthOf(b *rpc.Bundle) int {
	deepest := 0
	for i := range b.Elements {
		if inside := b.Elements[i].Bundle; inside != nil {
			deepest = max(deepest, depthOf(inside))
		}
	}
	return 1 + deepest
}

// commonWindow is the window of the blocks and times that are in both windows, false if there are
// none.
func commonWindow(a, b rpc.Window) (rpc.Window, bool) {
	both := rpc.Window{
		FirstBlock: max(a.FirstBlock, b.FirstBlock), LastBlock: min(a.LastBlock, b.LastBlock),
		MinTimestamp: max(a.MinTimestamp, b.MinTimestamp), MaxTimestamp: max(a.MaxTimestamp, b.MaxTimestamp),
	}
	if a.MaxTimestamp != 0 && b.MaxTimestamp != 0 {
		both.MaxTimestamp = min(a.MaxTimestamp, b.MaxTimestamp)
	}
	inTime := both.MaxTimestamp == 0 || both.MinTimestamp <= both.MaxTimestamp
	return both, both.FirstBlock <= both.LastBlock && inTime
}

// commonBuilders are the builders that both orders are for. The operator's own builder gets every
// order.
func commonBuilders(a, b *rpc.Order) (names []string, all bool) {
	switch {
	case a.AllBuilders && b.AllBuilders:
		return mergeNames(a.Builders, b.Builders), true
	case a.AllBuilders:
		return b.Builders, false
	case b.AllBuilders:
		return a.Builders, false
	}
	for _, name := range a.Builders {
		if slices.Contains(b.Builders, name) {
			names = append(names, name)
		}
	}
	return names, false
}

// mergeNames returns the names of both lists, each once.
func mergeNames(a, b []string) []string {
	all := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
