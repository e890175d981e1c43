package method

import (
	"cmp"
	"context"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// refundsByRecipient is flashbots_getFeeRefundsByRecipient.
func (m *Methods) refundsByRecipient() Method {
	return Method{
		Name:    "flashbots_getFeeRefundsByRecipient",
		Summary: "List the refunds of a recipient.",
		About: "Only blocks from the first one with details on are listed; the totals know the others too. A cursor may " +
			"stand in the object or be the " +
			"second parameter; the former wins.",
		Params: []Param{required("query", object(
			needs("recipient", address, "who gets the refunds"),
			may("cursor", text, "of the page before"),
		)), optional("cursor", text)},
		Example:  `[{"recipient":"'$ADDRESS'"}]`,
		Result:   refundListSchema,
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.InvalidCursor, rpc.NotReady},
		Do: func(ctx context.Context, call *Call) (any, error) {
			var p struct {
				Recipient *bundle.Address `json:"recipient"`
				Cursor    string          `json:"cursor"`
			}
			var second string
			if err := bundle.ReadPositional(call.Params, &p, &second); err != nil {
				return nil, err
			}
			if p.Recipient == nil {
				return nil, bundle.MissingParam("params[0].recipient")
			}
			return answerPage(m.Refunds.ByRecipient(ctx, call.At, common.Address(*p.Recipient),
				cmp.Or(p.Cursor, second), m.pageSize()))
		},
	}
}
