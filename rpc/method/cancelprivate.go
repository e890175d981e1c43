package method

import (
	"context"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// cancelPrivate is eth_cancelPrivateTransaction.
func (m *Methods) cancelPrivate() Method {
	return Method{
		Name:    "eth_cancelPrivateTransaction",
		Summary: "Stop trying to include a private transaction.",
		About: "Only the key that signed the request which sent the transaction can cancel it. Builders that have it " +
			"are told.",
		Params:  []Param{required("cancel", object(needs("txHash", hash, "the transaction")))},
		Example: `[{"txHash":"'$HASH1'"}]`,
		Result: boolean.says("true if it was cancelled; false if it is unknown, landed, expired or cancelled already, " +
			"or was sent by another signer"),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.JournalUnavailable},
		Do: func(_ context.Context, call *Call) (any, error) {
			txHash, err := bundle.ReadCancelPrivate(call.Params)
			if err != nil {
				return nil, err
			}
			cancelled, err := m.Canceller.CancelPrivate(call.At, call.Signer, txHash)
			if err != nil {
				return nil, err
			}
			return cancelled, nil
		},
	}
}
