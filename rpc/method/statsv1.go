package method

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// userStatsV1Result answers flashbots_getUserStats: userStatsResult in the names of 2021.
type userStatsV1Result struct {
	IsHighPriority           bool   `json:"is_high_priority"`
	AllTimeValidatorPayments string `json:"all_time_miner_payments"`
	AllTimeGasSimulated      string `json:"all_time_gas_simulated"`
	Last7DValidatorPayments  string `json:"last_7d_miner_payments"`
	Last7DGasSimulated       string `json:"last_7d_gas_simulated"`
	Last1DValidatorPayments  string `json:"last_1d_miner_payments"`
	Last1DGasSimulated       string `json:"last_1d_gas_simulated"`
}

// userStatsV1 is flashbots_getUserStats, which client libraries still call.
func (h *House) userStatsV1() Method {
	return Method{
		Name:    "flashbots_getUserStats",
		Summary: "Say what `flashbots_getUserStatsV2` says, in the form of its first version.",
		About:   "Deprecated: it is for clients that know no other. The parameter may also be an object with a `blockNumber`.",
		Params:  []Param{perhaps("blockNumber", anyNumber.says("within 20 of the newest one"))},
		Example: `["'$NEXT'"]`,
		Result: object(
			needs("is_high_priority", boolean, "the signer's simulations come first"),
			needs("all_time_miner_payments", decimal, "what landed orders paid, in wei"),
			needs("all_time_gas_simulated", decimal, "gas"),
			needs("last_7d_miner_payments", decimal, "of 7 days"),
			needs("last_7d_gas_simulated", decimal, "of 7 days"),
			needs("last_1d_miner_payments", decimal, "of a day"),
			needs("last_1d_gas_simulated", decimal, "of a day"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.StatsTooOld},
		Beyond:   true,
		Do: func(_ context.Context, call *Call) (any, error) {
			number, err := statsBlock(call.Params)
			if err != nil {
				return nil, err
			}
			if err := h.nearHead(number); err != nil {
				return nil, err
			}
			return userStatsV1Result(h.statsOfUser(call)), nil
		},
	}
}

// statsBlock reads the block that somebody's statistics are asked for: by itself, or in an object.
func statsBlock(params json.RawMessage) (param.Number, error) {
	first := bytes.TrimLeft(params, "[ \t\r\n")
	if bytes.HasPrefix(first, []byte("{")) {
		var p struct {
			Number param.Number `json:"blockNumber"`
		}
		err := param.Positional(params, &p)
		return p.Number, err
	}
	var number param.Number
	err := param.Positional(params, &number)
	return number, err
}

// bundleStatsV1Result answers flashbots_getBundleStats. Times are left out while they are not known.
type bundleStatsV1Result struct {
	IsSimulated    bool   `json:"isSimulated"`
	IsSentToMiners bool   `json:"isSentToMiners"`
	IsHighPriority bool   `json:"isHighPriority"`
	SimulatedAt    string `json:"simulatedAt,omitempty"`
	SubmittedAt    string `json:"submittedAt,omitempty"`
	SentToMinersAt string `json:"sentToMinersAt,omitempty"`
}

// bundleStatsV1 is flashbots_getBundleStats, which client libraries still call.
func (h *House) bundleStatsV1() Method {
	return Method{
		Name:    "flashbots_getBundleStats",
		Summary: "Say what `flashbots_getBundleStatsV2` says, in the form of its first version.",
		About:   "Deprecated: it is for clients that know no other.",
		Params:  []Param{need("query", bundleStatsQuery())},
		Example: `[{"bundleHash":"'$HASH1'","blockNumber":"'$NEXT'"}]`,
		Result: object(
			needs("isSimulated", boolean, "a simulation has ended"),
			needs("isSentToMiners", boolean, "a builder took it"),
			needs("isHighPriority", boolean, "its signer's simulations come first"),
			may("simulatedAt", timestamp, "when the first simulation ended"),
			may("submittedAt", timestamp, "when the request was complete"),
			may("sentToMinersAt", timestamp, "when the first builder took it"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.StatsTooOld, rpc.NotReady},
		Beyond:   true,
		Do: func(ctx context.Context, call *Call) (any, error) {
			hash, err := h.askedStats(call)
			if err != nil {
				return nil, err
			}
			return h.statsV1Of(ctx, call.Signer, hash)
		},
	}
}

func (h *House) statsV1Of(ctx context.Context, signer common.Address, hash common.Hash) (any, error) {
	s, err := h.statsOf(ctx, signer, hash)
	if err != nil {
		return nil, err
	}
	result := bundleStatsV1Result{IsSimulated: s.IsSimulated, SimulatedAt: s.SimulatedAt, SubmittedAt: s.ReceivedAt}
	result.IsHighPriority = s.IsHighPriority != nil && *s.IsHighPriority
	if len(s.ConsideredByBuildersAt) > 0 {
		result.IsSentToMiners, result.SentToMinersAt = true, s.ConsideredByBuildersAt[0].Timestamp
	}
	return result, nil
}
