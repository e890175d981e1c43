package method

import (
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// refundTotals is flashbots_getFeeRefundTotalsByRecipient.
func (m *Methods) refundTotals() Method {
	return Method{
		Name:    "flashbots_getFeeRefundTotalsByRecipient",
		Summary: "Sum up all refunds of a recipient.",
		About:   "How often the totals are computed is the operator's affair; `maxBlockNumber` tells how far they go.",
		Params:  []Param{required("recipient", address)},
		Example: `["'$ADDRESS'"]`,
		Result: object(
			needs("pending", quantity, "earned and not received yet, in wei"),
			needs("received", quantity, "in wei"),
			needs("maxBlockNumber", quantity, "newest block that is counted"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.NotReady},
		Do: func(ctx context.Context, call *Call) (any, error) {
			var recipient *bundle.Address
			if err := bundle.ReadPositional(call.Params, &recipient); err != nil {
				return nil, err
			}
			if recipient == nil {
				return nil, bundle.MissingParam("params[0]")
			}
			totals, err := m.Refunds.Totals(ctx, call.At, common.Address(*recipient))
			if err != nil {
				return nil, err
			}
			return struct {
				Pending        *hexutil.U256  `json:"pending"`
				Received       *hexutil.U256  `json:"received"`
				MaxBlockNumber hexutil.Uint64 `json:"maxBlockNumber"`
			}{hexOf(totals.PendingWei), hexOf(totals.ReceivedWei), hexutil.Uint64(totals.UpTo)}, nil
		},
	}
}
