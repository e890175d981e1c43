package method

import (
	"context"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// shareBundle is the schema of mev_sendBundle and mev_simBundle. Bundles may be elements, with the
// same schema.
func shareBundle(more ...field) *Schema {
	element := object(
		may("hash", hash, "double hash of somebody else's order, which this bundle follows; only as the first element"),
		may("tx", hexBytes, "signed transaction"),
		may("canRevert", boolean, "the transaction may fail, and stays in the block then"),
		may("revertMode", oneOfWords("fail", "allow", "drop"), "the same in words; drop leaves it out"),
		may("bundle", &Schema{Type: "object", Title: "bundle"}, "a bundle of this form"),
	)
	fields := []field{
		needs("version", oneOfWords("v0.1", "beta-1", "version-1"), "of the form"),
		needs("inclusion", object(
			needs("block", anyNumber, "first block"),
			may("maxBlock", anyNumber, "last block, by default the first; at most 30 above it"),
		), "blocks that may have it"),
		needs("body", listOf(element), "what is included, in this order; each element is a hash, a transaction or a bundle"),
		may("validity", object(
			may("refund", listOf(object(
				needs("bodyIdx", anyNumber, "element whose owner gets a refund"),
				needs("percent", between(0, 100), "of what the other elements earn"),
			)), "what is given back"),
			may("refundConfig", listOf(object(
				needs("address", address, "who gets a part of a refund for this bundle"),
				needs("percent", between(0, 100), "of the refund"),
			)), "how a refund for this bundle is split; by default all goes to the first transaction's sender"),
		), "terms of refunds"),
		may("privacy", object(
			may("hints", listOf(oneOfWords("calldata", "contract_address", "logs", "default_logs", "special_logs",
				"function_selector", "hash", "tx_hash", "full")),
				"what searchers may see"),
			may("builders", listOf(text), "names of builders that may have it beside the operator's own"),
			may("wantRefund", between(0, 100), "percentage of a backrun's value that is to come back"),
		), "who may know of it"),
		may("metadata", object(may("originId", text, "where it comes from; not used")), "about the bundle"),
	}
	return object(append(fields, more...)...)
}

// sendShare is mev_sendBundle.
func (m *Methods) sendShare() Method {
	return Method{
		Name:    "mev_sendBundle",
		Summary: "Send a bundle with terms: who may see what of it, and who gets which part of what it earns.",
		About: "Beside transactions a body may hold whole bundles, or begin with the double hash of somebody else's " +
			"pending order; then exactly one " +
			"transaction follows, the backrun: it is included right after that order or not at all, and that order's signer " +
			"gets its part of what the " +
			"backrun earns. Such a bundle is for those blocks and builders only that both are for, ends with the order that " +
			"it follows, and is known by " +
			"the hash of its body as it came. Any hint but none shares the bundle's double hash.",
		Params: []Param{
			required("bundle",
				shareBundle(may("replacementUuid", uuid36, "name of the bundle, for its signer to replace or cancel it")))},
		Example: `[{"version":"v0.1","inclusion":{"block":"'$NEXT'","maxBlock":"'$NEXT'"},"body":[{"tx":"'$TX1'","canRevert":false}],"privacy":{"hints":["hash","logs"]}}]`,
		Result: object(needs("bundleHash", hash,
			"of a body with one element that element's hash, else Keccak-256 of all, one after the other")),
		Refusals: []rpc.Refusal{
			rpc.InvalidParams, rpc.BundleTooDeep, rpc.BundleVersion, rpc.InvalidInclusion, rpc.InvalidBodySize, rpc.InvalidBody,
			rpc.BundleUndecodable,
			rpc.InvalidRevertMode, rpc.InvalidConstraints, rpc.InvalidPrivacy, rpc.BackrunNotFound, rpc.BackrunInvalidBundle,
			rpc.BackrunInvalidInclusion, rpc.BackrunLimited,
			rpc.OrderCancelled, rpc.NotReady, rpc.Overloaded, rpc.RateLimited, rpc.JournalUnavailable,
		},
		Do: func(_ context.Context, call *Call) (any, error) {
			order, err := bundle.ReadSendShare(call.Params, m.intake(call))
			if err != nil {
				return nil, err
			}
			return m.submit(call, order)
		},
	}
}
