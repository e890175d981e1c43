package method

import (
	"cmp"
	"context"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// refundsByBlock is flashbots_getFeeRefundsByBlock.
func (m *Methods) refundsByBlock() Method {
	return Method{
		Name:    "flashbots_getFeeRefundsByBlock",
		Summary: "List the refunds for orders of a block.",
		About:   "The number may be the parameter itself, too.",
		Params: []Param{required("query", &Schema{OneOf: []*Schema{object(
			needs("block_number", anyNumber, "the block"),
			may("cursor", text, "of the page before"),
		), anyNumber}}), optional("cursor", text)},
		Example:  `[{"block_number":"0x1"}]`,
		Result:   refundListSchema,
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.InvalidCursor, rpc.NotReady},
		Do: func(ctx context.Context, call *Call) (any, error) {
			var p struct {
				Number bundle.Number `json:"block_number"`
				Cursor string        `json:"cursor"`
			}
			var first bundle.RawValue
			var second string
			if err := bundle.ReadPositional(call.Params, &first, &second); err != nil {
				return nil, err
			}
			if err := objectOr(first, &p, &p.Number); err != nil {
				return nil, err
			}
			if !p.Number.Set {
				return nil, bundle.MissingParam("params[0].block_number")
			}
			return answerPage(m.Refunds.ByBlock(ctx, call.At, p.Number.Value, cmp.Or(p.Cursor, second), m.pageSize()))
		},
	}
}
