package method

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// Users know their signers' reputation.
type Users interface {
	// High says whether a signer's simulations come first.
	High(signer common.Address) bool
	Stats(at time.Time, signer common.Address) rpc.UserStats
}

// userStatsResult answers flashbots_getUserStatsV2. Numbers are decimal text.
type userStatsResult struct {
	IsHighPriority           bool   `json:"isHighPriority"`
	AllTimeValidatorPayments string `json:"allTimeValidatorPayments"`
	AllTimeGasSimulated      string `json:"allTimeGasSimulated"`
	Last7DValidatorPayments  string `json:"last7dValidatorPayments"`
	Last7DGasSimulated       string `json:"last7dGasSimulated"`
	Last1DValidatorPayments  string `json:"last1dValidatorPayments"`
	Last1DGasSimulated       string `json:"last1dGasSimulated"`
}

// userStats is flashbots_getUserStatsV2.
func (h *House) userStats() Method {
	return Method{
		Name:    "flashbots_getUserStatsV2",
		Summary: "Say how much the signer's orders paid and how much gas simulating them used.",
		About:   "The two together are the reputation that decides whose simulations come first. Any key may be used at any time; a new one has none.",
		Params:  []Param{perhaps("query", object(may("blockNumber", anyNumber, "within 20 of the newest one")))},
		Example: `[{"blockNumber":"'$NEXT'"}]`,
		Result: object(
			needs("isHighPriority", boolean, "the signer's simulations come first"),
			needs("allTimeValidatorPayments", decimal, "what landed orders paid, in wei"),
			needs("allTimeGasSimulated", decimal, "gas"),
			needs("last7dValidatorPayments", decimal, "of 7 days"),
			needs("last7dGasSimulated", decimal, "of 7 days"),
			needs("last1dValidatorPayments", decimal, "of a day"),
			needs("last1dGasSimulated", decimal, "of a day"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.StatsTooOld},
		Beyond:   true,
		Do: func(_ context.Context, call *Call) (any, error) {
			var p struct {
				Number param.Number `json:"blockNumber"`
			}
			if err := param.Positional(call.Params, &p); err != nil {
				return nil, err
			}
			if err := h.nearHead(p.Number); err != nil {
				return nil, err
			}
			return h.statsOfUser(call), nil
		},
	}
}

func (h *House) statsOfUser(call *Call) userStatsResult {
	s := h.Users.Stats(call.At, call.Signer)
	return userStatsResult{
		IsHighPriority:           s.High,
		AllTimeValidatorPayments: dec(s.AllTime.ValueWei), AllTimeGasSimulated: dec(uint256.NewInt(s.AllTime.GasSimulated)),
		Last7DValidatorPayments: dec(s.Week.ValueWei), Last7DGasSimulated: dec(uint256.NewInt(s.Week.GasSimulated)),
		Last1DValidatorPayments: dec(s.Day.ValueWei), Last1DGasSimulated: dec(uint256.NewInt(s.Day.GasSimulated)),
	}
}

func dec(amount *uint256.Int) string {
	if amount == nil {
		return "0"
	}
	return amount.Dec()
}
