package method

import (
	"context"

	"github.com/gavel-relay/gavel/rpc/bundle"
)

// sendPrivateRaw is eth_sendPrivateRawTransaction.
func (m *Methods) sendPrivateRaw() Method {
	return Method{
		Name: "eth_sendPrivateRawTransaction",
		Summary: "The same as eth_sendPrivateTransaction, with the transaction and its preferences as parameters of " +
			"their own.",
		Params:   []Param{required("tx", hexBytes.says("signed transaction")), optional("preferences", preferences)},
		Example:  `["'$TX1'",{"fast":true,"privacy":{"hints":["calldata","logs"]}}]`,
		Result:   hash.says("the transaction's hash"),
		Refusals: privateRefusals,
		Do:       m.doSendPrivateRaw,
	}
}

// sendRaw is eth_sendRawTransaction, for wallets that support no other method.
func (m *Methods) sendRaw() Method {
	return Method{
		Name:     "eth_sendRawTransaction",
		Summary:  "Send a private transaction with the preferences that hold by default.",
		About:    "Wallets send so. The transaction does not go to the public pool.",
		Params:   []Param{required("tx", hexBytes.says("signed transaction"))},
		Example:  `["'$TX2'"]`,
		Result:   hash.says("the transaction's hash"),
		Refusals: privateRefusals,
		Beyond:   true,
		Do:       m.doSendPrivateRaw,
	}
}

func (m *Methods) doSendPrivateRaw(_ context.Context, call *Call) (any, error) {
	order, err := bundle.ReadSendPrivateRaw(call.Params, m.intake(call))
	return m.submitPrivate(call, order, err)
}
