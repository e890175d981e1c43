package method

import (
	"context"
	"encoding/hex"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// bundleAnswer answers eth_sendBundle and mev_sendBundle.
type bundleAnswer struct {
	BundleHash common.Hash `json:"bundleHash"`
	// Smart is the text "true" if builders were named.
	Smart string `json:"smart,omitempty"`
}

// AppendJSON implements jsonrpc.Appender.
func (t bundleAnswer) AppendJSON(to []byte) []byte {
	to = append(hex.AppendEncode(append(to, `{"bundleHash":"0x`...), t.BundleHash[:]), '"')
	if t.Smart != "" { // it needs no escapes
		to = append(append(append(to, `,"smart":"`...), t.Smart...), '"')
	}
	return append(to, '}')
}

// sendBundle is eth_sendBundle.
func (m *Methods) sendBundle() Method {
	return Method{
		Name:    "eth_sendBundle",
		Summary: "Send transactions that are to be in one block together, in this order, or not at all.",
		About: "The block is `blockNumber`, by default the next one. Before each block the bundle could be in, it is " +
			"simulated on the newest state; if that " +
			"succeeds it goes to the operator's builder and to the `builders` that are named. With a `replacementUuid` the " +
			"bundle takes the place of what " +
			"the same signer sent under it before, and can be cancelled; without transactions it only cancels. " +
			"`refundPercent` gives a part of what " +
			"one transaction pays the block's fee recipient (`refundTxHashes`, by default the last one) to " +
			"`refundRecipient`, by default the first one's sender.",
		Params: []Param{required("bundle", object(
			needs("txs", listOf(hexBytes),
				"signed transactions, at most 100 and 300,000 bytes in all; blob transactions with their sidecar"),
			may("blockNumber", anyNumber, "the block; by default, and with 0, the next one"),
			may("minTimestamp", anyNumber, "earliest time of the block, in seconds since 1970; 0 is any"),
			may("maxTimestamp", anyNumber, "latest time of the block; 0 is any"),
			may("revertingTxHashes", listOf(hash), "transactions that may fail, and stay in the block then"),
			may("replacementUuid", uuid36, "name of the bundle, for its signer to replace or cancel it"),
			may("builders", listOf(text), "names of builders that may have it beside the operator's own"),
			may("version", oneOfWords("v1", "v2"), "of the form"),
			may("droppingTxHashes", listOf(hash), "transactions that may be left out"),
			may("uuid", uuid36, "the same as replacementUuid"),
			may("refundPercent", between(1, 99), "of what the refund transaction pays"),
			may("refundRecipient", address, "who gets the refund"),
			may("refundTxHashes", listOf(hash), "the transaction whose payment is shared, at most one"),
			may("delayedRefund", boolean, "the refund is paid outside of the block"),
			may("signingAddress", address, "the signer of the request; another one is refused"),
		))},
		Example: `[{"txs":["'$TX1'","'$TX2'"],"blockNumber":"'$NEXT'","replacementUuid":"e9ced844-16d5-4884-8507-db9338950c5c"}]`,
		Result: object(
			needs("bundleHash", hash, "Keccak-256 of the transactions' hashes, one after the other"),
			may("smart", oneOfWords("true"), "when builders were named"),
		),
		Refusals: []rpc.Refusal{
			rpc.InvalidParams, rpc.BundleVersion, rpc.BundleEmpty, rpc.BundleTooManyTxs, rpc.BundleTooLarge,
			rpc.InvalidInclusion, rpc.InvalidTimestamps,
			rpc.InvalidRefund, rpc.BundleUndecodable, rpc.OrderCancelled, rpc.NotReady, rpc.Overloaded, rpc.RateLimited,
			rpc.JournalUnavailable,
		},
		Do: func(_ context.Context, call *Call) (any, error) {
			order, cancel, err := bundle.ReadSendBundle(call.Params, m.intake(call))
			if err != nil {
				return nil, err
			}
			if cancel != uuid.Nil {
				if err := m.Canceller.Cancel(call.At, call.Signer, cancel); err != nil {
					return nil, err
				}
				return bundleAnswer{BundleHash: bundle.Hash(nil)}, nil
			}
			return m.submit(call, order)
		},
	}
}

// submit submits a bundle. The answer has "smart" if builders were named, even if they are not
// registered.
func (m *Methods) submit(call *Call, order *rpc.Order) (any, error) {
	order.Source = call.Source
	standing, err := m.Submitter.Submit(call.At, order)
	if err != nil {
		return nil, err
	}
	answer := bundleAnswer{BundleHash: standing.Hash()}
	if order.Kind == rpc.KindBundle && len(order.Builders) > 0 {
		answer.Smart = "true"
	}
	return answer, nil
}
