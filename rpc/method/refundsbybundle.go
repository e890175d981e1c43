package method

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// refundsByBundle is flashbots_getFeeRefundsByBundle.
func (m *Methods) refundsByBundle() Method {
	return Method{
		Name:    "flashbots_getFeeRefundsByBundle",
		Summary: "List the refunds that a bundle or a transaction brought.",
		About:   "The hash may be the parameter itself, too.",
		Params: []Param{required("query", &Schema{OneOf: []*Schema{object(
			needs("bundle_hash", hash, "as it was answered when the order was sent"),
			may("cursor", text, "of the page before"),
		), hash}}), optional("cursor", text)},
		Example:  `[{"bundle_hash":"'$HASH1'"}]`,
		Result:   refundListSchema,
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.InvalidCursor, rpc.NotReady},
		Do: func(ctx context.Context, call *Call) (any, error) {
			var p struct {
				Hash   *bundle.HashParam `json:"bundle_hash"`
				Cursor string            `json:"cursor"`
			}
			var first bundle.RawValue
			var second string
			if err := bundle.ReadPositional(call.Params, &first, &second); err != nil {
				return nil, err
			}
			if err := objectOr(first, &p, &p.Hash); err != nil {
				return nil, err
			}
			if p.Hash == nil {
				return nil, bundle.MissingParam("params[0].bundle_hash")
			}
			return answerPage(m.Refunds.ByBundle(ctx, call.At, common.Hash(*p.Hash), cmp.Or(p.Cursor, second), m.pageSize()))
		},
	}
}

// objectOr reads the first parameter: an object, or only its main value.
func objectOr(first bundle.RawValue, whole, value any) error {
	raw := first.JSON()
	if raw == nil {
		return nil
	}
	if isObject(raw) {
		return bundle.ReadParam("params[0]", raw, whole)
	}
	return bundle.ReadParam("params[0]", raw, value)
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
