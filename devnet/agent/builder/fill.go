package builder

import (
	"context"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/chain"
)

// Fill puts orders that Handler has taken into a draft as into a bid, with the payouts of their
// refunds, and answers the draft with them: those with a transaction that is wanted. It is for
// whoever makes blocks without bidding; Run need not run.
func (b *Builder) Fill(ctx context.Context, draft *chain.Draft, wanted func(tx common.Hash) bool) *chain.Draft {
	var orders []*Order
	for _, order := range b.intake.forBlock(draft.Number(), draft.Timestamp()) {
		if slices.ContainsFunc(order.Bundle.transactions(), func(tx *Tx) bool { return wanted(tx.Hash()) }) {
			orders = append(orders, order)
		}
	}
	draft, _ = b.merge(ctx, draft, orders)
	return draft
}
