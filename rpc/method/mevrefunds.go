package method

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// MevRefunds sums up refunds that orders got from the bundles that followed them, at a time.
type MevRefunds interface {
	MevTotals(ctx context.Context, at time.Time, recipient common.Address) (rpc.RefundTotals, error)
	// MevTotalsOfSender sums up the refunds for the transactions of a sender, whoever received
	// them.
	MevTotalsOfSender(ctx context.Context, at time.Time, sender common.Address) (rpc.RefundTotals, error)
}

// mevTotalByRecipient is flashbots_getMevRefundTotalByRecipient.
func (m *Methods) mevTotalByRecipient() Method {
	return mevTotal("flashbots_getMevRefundTotalByRecipient", "recipient",
		"Sum up what an address received of bundles that followed orders.",
		m.Mev.MevTotals)
}

// mevTotalBySender is flashbots_getMevRefundTotalBySender.
func (m *Methods) mevTotalBySender() Method {
	return mevTotal("flashbots_getMevRefundTotalBySender", "sender",
		"Sum up what was paid back, to anybody, of bundles that followed orders of a sender: of the account that sent an "+
			"order's first transaction.",
		m.Mev.MevTotalsOfSender)
}

func mevTotal(
	name, whose, summary string, totals func(context.Context, time.Time, common.Address) (rpc.RefundTotals, error),
) Method {
	return Method{
		Name: name, Summary: summary,
		About: "Such a refund is among the fee refunds too (`flashbots_getFeeRefundTotalsByRecipient`), which also have " +
			"what bundles give back of what they " +
			"paid themselves. It is counted as often as those are. Needs no signature.",
		Params:  []Param{required(whose, address)},
		Example: `["'$ADDRESS'"]`,
		Result: object(
			needs("total", quantity, "paid out, in wei"),
			needs("pending", quantity, "earned and not paid out yet, in wei"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.NotReady},
		Beyond:   true, Unsigned: true,
		Do: func(ctx context.Context, call *Call) (any, error) {
			var who *bundle.Address
			if err := bundle.ReadPositional(call.Params, &who); err != nil {
				return nil, err
			}
			if who == nil {
				return nil, bundle.MissingParam("params[0]")
			}
			sums, err := totals(ctx, call.At, common.Address(*who))
			if err != nil {
				return nil, err
			}
			return struct {
				Total   *hexutil.U256 `json:"total"`
				Pending *hexutil.U256 `json:"pending"`
			}{hexOf(sums.ReceivedWei), hexOf(sums.PendingWei)}, nil
		},
	}
}
