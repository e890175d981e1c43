package mutant

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// termsMutants returns the mutants that take an order with all its members, answer rightly, and
// forget one of the members.
func termsMutants() []Mutant {
	all := []string{"second", "third"}
	return []Mutant{
		{"rpc-min-timestamp-not-sent-on", "rpc", "minTimestamp is forgotten", []string{"RPC-BUN-22"},
			dropped("eth_sendBundle", "minTimestamp")},
		{"rpc-max-timestamp-not-sent-on", "rpc", "maxTimestamp is forgotten", []string{"RPC-BUN-22"},
			dropped("eth_sendBundle", "maxTimestamp")},
		{"rpc-reverting-tx-hashes-forgotten", "rpc", "revertingTxHashes are forgotten", []string{"RPC-BUN-23"},
			dropped("eth_sendBundle", "revertingTxHashes")},
		{"rpc-later-version-of-bundle-stands-beside-earlier-one", "rpc",
			"a later version of a bundle stands beside the earlier one", []string{"RPC-BUN-21"},
			versions(func(e *Exchange, o map[string]any) bool {
				o["replacementUuid"] = uuid.NewSHA1(uuid.Nil, e.Asked).String()
				return false
			})},
		{"rpc-later-version-of-bundle-only-cancels", "rpc",
			"a later version of a bundle cancels the earlier one, and that is all", []string{"RPC-BUN-21"},
			versions(func(e *Exchange, o map[string]any) bool {
				cancel := probe.Call{ID: 1, Method: "eth_cancelBundle",
					Params: []any{map[string]any{"replacementUuid": o["replacementUuid"]}}}.Body()
				if _, err := post(e.Request.Context(), e.base, cancel); err != nil {
					return e.say(http.StatusBadGateway, jsonType, "{}")
				}
				return e.say(http.StatusOK, jsonType, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"bundleHash":"%s"}}`,
					bundleHash(o["txs"])))
			})},
		{"rpc-builders-of-eth-send-bundle-forgotten", "rpc", "builders of eth_sendBundle are forgotten",
			[]string{"RPC-BUN-24"},
			changeFirstParam("eth_sendBundle", func(o map[string]any) {
				if o["builders"] != nil {
					o["builders"] = []string{}
				}
			})},
		{"rpc-eth-send-bundle-goes-to-all-builders-when-it-names-one", "rpc",
			"eth_sendBundle goes to all builders when it names one", []string{"RPC-BUN-24"},
			changeFirstParam("eth_sendBundle", func(o map[string]any) {
				if o["builders"] != nil {
					o["builders"] = all
				}
			})},
		{"rpc-builders-of-mev-send-bundle-forgotten", "rpc", "builders of mev_sendBundle are forgotten",
			[]string{"RPC-SHR-31"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) { delete(at(o, "privacy"), "builders") })},
		{"rpc-mev-send-bundle-goes-to-all-builders-when-it-names-one", "rpc",
			"mev_sendBundle goes to all builders when it names one", []string{"RPC-SHR-31"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) {
				if privacy := at(o, "privacy"); privacy["builders"] != nil {
					privacy["builders"] = all
				}
			})},
		{"rpc-private-transaction-goes-to-all-builders", "rpc",
			"a private transaction goes to all builders when it names one", []string{"RPC-PRI-20"},
			changeFirstParam("eth_sendPrivateTransaction", func(o map[string]any) {
				if privacy := at(o, "preferences", "privacy"); privacy["builders"] != nil {
					privacy["builders"] = all
				}
			})},
		{"rpc-max-block-forgotten", "rpc", "maxBlock is forgotten", []string{"RPC-SHR-32"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) { delete(at(o, "inclusion"), "maxBlock") })},
		{"rpc-bundle-without-max-block-tried-for-three-blocks", "rpc",
			"a bundle without maxBlock is tried for three blocks", []string{"RPC-SHR-32"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) {
				if inclusion := at(o, "inclusion"); inclusion != nil && inclusion["maxBlock"] == nil {
					inclusion["maxBlock"] = laterBlock(inclusion["block"], 2)
				}
			})},
		{"rpc-bundle-tried-for-two-blocks-more", "rpc", "a bundle is tried for two blocks more", []string{"RPC-SHR-32"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) {
				if inclusion := at(o, "inclusion"); inclusion["maxBlock"] != nil {
					inclusion["maxBlock"] = laterBlock(inclusion["maxBlock"], 2)
				}
			})},
		{"rpc-max-block-number-forgotten", "rpc", "maxBlockNumber is forgotten", []string{"RPC-PRI-21"},
			dropped("eth_sendPrivateTransaction", "maxBlockNumber")},
		{"rpc-cancels-of-private-transactions-answered-and-forgotten", "rpc",
			"cancels of private transactions are answered and forgotten", []string{"RPC-CPR-06"},
			asks("/", func(e *Exchange) bool {
				return e.Method == "eth_cancelPrivateTransaction" &&
					e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"result":true}`)
			})},
	}
}

// versions is a fault that changes a bundle whose replacementUuid an earlier one had. If change
// returns true, it has put the answer into the exchange.
func versions(change func(e *Exchange, o map[string]any) bool) func() Fault {
	return func() Fault {
		var known []any
		return Fault{Ask: func(e *Exchange) bool {
			answered := false
			changeFirstParam("eth_sendBundle", func(o map[string]any) {
				id := o["replacementUuid"]
				if id == nil || id == uuid.Nil.String() {
					return
				}
				if !slices.Contains(known, id) {
					known = append(known, id)
					return
				}
				answered = change(e, o)
			})().Ask(e)
			return answered
		}}
	}
}

// laterBlock adds to a block's number in hexadecimal.
func laterBlock(block any, by int64) string { return fmt.Sprintf("%#x", quantity(block)+by) }

// quantity reads a number in hexadecimal. What is none is 0, which the target refuses.
func quantity(text any) (number int64) {
	_, _ = fmt.Sscanf(fmt.Sprint(text), "0x%x", &number)
	return number
}

// bundleHash returns the hash of a bundle of raw transactions: the Keccak-256 of their hashes.
func bundleHash(txs any) string {
	var all []byte
	for _, text := range hashes(txs) {
		all = append(all, common.HexToHash(text).Bytes()...)
	}
	return crypto.Keccak256Hash(all).Hex()
}
