package orders

import (
	"cmp"
	"context"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
)

// Merge adds as many waiting orders to a draft as fit together, with the payouts of their refunds.
// It returns the new draft, and the number of orders that were added. It adds only orders with a
// transaction for which wanted returns true; a nil wanted allows all.
func (in *Intake) Merge(ctx context.Context, draft *chain.Draft,
	wanted func(tx common.Hash) bool) (*chain.Draft, int) {
	draft, placed := in.merge(ctx, draft, in.waiting(draft, wanted))
	return draft, len(placed)
}

// waiting returns the orders that may be in a draft's block and are wanted.
func (in *Intake) waiting(draft *chain.Draft, wanted func(tx common.Hash) bool) []*Order {
	list := in.queue.forBlock(draft.Number(), draft.Timestamp())
	if wanted == nil {
		return list
	}
	return slices.DeleteFunc(list, func(order *Order) bool {
		return !slices.ContainsFunc(order.Bundle.transactions(), func(tx *Tx) bool { return wanted(tx.Hash()) })
	})
}

// merge adds as many orders to a draft as fit together, the most valuable first, and returns the
// new draft. Orders that begin with the same transaction compete for it: the one with the highest
// refund wins. Orders that failed are tried again after others were added, because they may depend
// on these.
func (in *Intake) merge(ctx context.Context, draft *chain.Draft, orders []*Order) (*chain.Draft, []*result) {
	var placed []*result
	for len(orders) > 0 && ctx.Err() == nil {
		groups, failed := in.contests(ctx, draft, orders)
		before := len(placed)
		for _, group := range groups {
			for _, candidate := range group {
				next, r, err := in.place(ctx, draft, candidate.order)
				if err != nil {
					failed = append(failed, candidate.order)
					continue
				}
				draft, placed = next, append(placed, r)
			}
		}
		if len(placed) == before {
			break
		}
		orders = failed
	}
	return draft, placed
}

// contests simulates the orders on a draft. It returns those that can be added, in groups that
// compete for a transaction. In a group the best order comes first; among the groups, the one with
// the most valuable order. failed are the orders that cannot be added at present.
func (in *Intake) contests(ctx context.Context, draft *chain.Draft,
	orders []*Order) (groups [][]*result, failed []*Order) {
	byFirst := map[common.Hash][]*result{}
	for _, order := range orders {
		r, err := in.simulate(ctx, draft, order)
		if err != nil {
			failed = append(failed, order)
			continue
		}
		first := order.Bundle.transactions()[0].Hash()
		byFirst[first] = append(byFirst[first], r)
	}
	for _, group := range byFirst {
		slices.SortFunc(group, func(x, y *result) int {
			return cmp.Or(y.refundWei.Cmp(x.refundWei), y.valueWei.Cmp(x.valueWei),
				cmp.Compare(x.order.arrival, y.order.arrival))
		})
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(x, y []*result) int {
		return cmp.Or(most(y).Cmp(most(x)), cmp.Compare(x[0].order.arrival, y[0].order.arrival))
	})
	return groups, failed
}

func most(group []*result) *uint256.Int {
	best := group[0].valueWei
	for _, r := range group {
		if r.valueWei.Gt(best) {
			best = r.valueWei
		}
	}
	return best
}
