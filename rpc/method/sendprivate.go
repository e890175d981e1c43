package method

import (
	"context"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// preferences is the schema of a private transaction's preferences.
var preferences = object(
	may("fast", boolean, "send it to all registered builders; then 50 % of a backrun's value comes back, not 90"),
	may("canRevert", boolean, "it may fail, and stays in the block then"),
	may("blockRange", anyNumber, "number of blocks to try, from the next one"),
	may("privacy", object(
		may("hints", listOf(oneOfWords("calldata", "contract_address", "logs", "default_logs", "special_logs",
			"function_selector", "hash", "tx_hash", "full")),
			"what searchers may see; by default hash and default_logs, with an empty list nothing"),
		may("builders", listOf(text), "names of builders that may have it; `default` and the operator's name are its own"),
	), "who may know of it"),
	may("validity", object(
		may("refund", listOf(object(
			needs("address", address, "who gets a part of a backrun's value"),
			needs("percent", between(0, 100), "of all that the backrun pays, also with fast"),
		)), "who gets how much; the rest stays with the builder. By default the sender gets what is usual"),
		may("refundConfig", listOf(object(
			needs("address", address, "who gets a part of what the sender would get"),
			needs("percent", between(0, 100), "of that"),
		)), "how what is usual is split, if `refund` names no address"),
	), "terms of refunds"),
)

var privateRefusals = []rpc.Refusal{
	rpc.InvalidParams, rpc.BundleTooLarge, rpc.BundleUndecodable, rpc.InvalidInclusion, rpc.InvalidConstraints,
	rpc.InvalidPrivacy, rpc.OrderCancelled, rpc.NotReady, rpc.Overloaded, rpc.RateLimited, rpc.JournalUnavailable,
}

// sendPrivate is eth_sendPrivateTransaction.
func (m *Methods) sendPrivate() Method {
	return Method{
		Name:    "eth_sendPrivateTransaction",
		Summary: "Send a transaction to builders, and not to the public pool.",
		About:   "It is tried for the next 25 blocks, or up to `maxBlockNumber` if that is less.",
		Params: []Param{required("transaction", object(
			needs("tx", hexBytes, "signed transaction"),
			may("maxBlockNumber", anyNumber, "last block to try"),
			may("preferences", preferences, "who may see it, and who earns by it"),
		))},
		Example:  `[{"tx":"'$TX1'","preferences":{"fast":true,"privacy":{"hints":["calldata","logs"]}}}]`,
		Result:   hash.says("the transaction's hash"),
		Refusals: privateRefusals,
		Do: func(_ context.Context, call *Call) (any, error) {
			order, err := bundle.ReadSendPrivate(call.Params, m.intake(call))
			return m.submitPrivate(call, order, err)
		},
	}
}

func (m *Methods) submitPrivate(call *Call, order *rpc.Order, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	order.Source = call.Source
	standing, err := m.Submitter.Submit(call.At, order)
	if err != nil {
		return nil, err
	}
	return standing.Hash(), nil
}
