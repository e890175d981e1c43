package method

import (
	"context"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// cancelBundle is eth_cancelBundle. Its result is null: an array, which some services return,
// breaks clients that expect nothing.
func (m *Methods) cancelBundle() Method {
	return Method{
		Name:    "eth_cancelBundle",
		Summary: "Keep a bundle out of all bids to come.",
		About: "It works for bundles that were sent with a `replacementUuid`, by the same signer. Builders that have the " +
			"bundle are told; bids that they " +
			"placed already are not lowered. A cancel may overtake its bundle: for a minute it keeps out what comes under " +
			"the same name.",
		Params: []Param{required("cancel", object(
			needs("replacementUuid", uuid36, "the name that the bundle was sent with"),
			may("signingAddress", address, "the signer of the request; another one is refused"),
		))},
		Example:  `[{"replacementUuid":"e9ced844-16d5-4884-8507-db9338950c5c"}]`,
		Result:   null.says("always null, also if there was no such bundle"),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.JournalUnavailable},
		Do: func(_ context.Context, call *Call) (any, error) {
			replacement, err := bundle.ReadCancelBundle(call.Params, call.Signer)
			if err != nil {
				return nil, err
			}
			return nil, m.Canceller.Cancel(call.At, call.Signer, replacement)
		},
	}
}
