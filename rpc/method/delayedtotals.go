package method

import (
	"context"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// delayedTotals is buildernet_getDelayedRefundTotalsByRecipient.
func (m *Methods) delayedTotals() Method {
	return Method{
		Name:    "buildernet_getDelayedRefundTotalsByRecipient",
		Summary: "Sum up the refunds of a recipient that are paid outside of the block.",
		About:   "Bounds are inclusive.",
		Params:  []Param{required("query", object(delayedRange...))},
		Example: `[{"recipient":"'$ADDRESS'"}]`,
		Result: object(
			needs("pending", quantity, "earned and not received yet, in wei"),
			needs("received", quantity, "in wei"),
			needs("indexedUpTo", quantity, "newest block whose refunds are all counted"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.InvalidRange, rpc.NotReady},
		Do: func(ctx context.Context, call *Call) (any, error) {
			var p delayedParams
			if err := bundle.ReadPositional(call.Params, &p); err != nil {
				return nil, err
			}
			p.Hash = nil
			q, err := p.query()
			if err != nil {
				return nil, err
			}
			totals, err := m.Delayed.DelayedTotals(ctx, q.Recipient, q.FromBlock, q.ToBlock)
			if err != nil {
				return nil, err
			}
			return struct {
				Pending     *hexutil.U256  `json:"pending"`
				Received    *hexutil.U256  `json:"received"`
				IndexedUpTo hexutil.Uint64 `json:"indexedUpTo"`
			}{hexOf(totals.PendingWei), hexOf(totals.ReceivedWei), hexutil.Uint64(totals.UpTo)}, nil
		},
	}
}
