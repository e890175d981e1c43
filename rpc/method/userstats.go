package method

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Users has the reputation of signers.
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

// userStatsV1Result answers flashbots_getUserStats: userStatsResult under the names of 2021.
type userStatsV1Result struct {
	IsHighPriority           bool   `json:"is_high_priority"`
	AllTimeValidatorPayments string `json:"all_time_miner_payments"`
	AllTimeGasSimulated      string `json:"all_time_gas_simulated"`
	Last7DValidatorPayments  string `json:"last_7d_miner_payments"`
	Last7DGasSimulated       string `json:"last_7d_gas_simulated"`
	Last1DValidatorPayments  string `json:"last_1d_miner_payments"`
	Last1DGasSimulated       string `json:"last_1d_gas_simulated"`
}

// userStats is flashbots_getUserStatsV2.
func (m *Methods) userStats() Method {
	return m.completeUserStats(Method{
		Name:    "flashbots_getUserStatsV2",
		Summary: "Say how much the signer's orders paid and how much gas simulating them used.",
		About: "The two together are the reputation that decides whose simulations come first. Any key may be used at " +
			"any time; a new one has none.",
		Params:  []Param{optional("query", object(may("blockNumber", anyNumber, "within 20 of the newest one")))},
		Example: `[{"blockNumber":"'$NEXT'"}]`,
		Result: userStatsShape("isHighPriority", "allTimeValidatorPayments", "allTimeGasSimulated", "last7dValidatorPayments",
			"last7dGasSimulated",
			"last1dValidatorPayments", "last1dGasSimulated"),
	}, statsBlockOfObject, func(s userStatsResult) any { return s })
}

// userStatsV1 is flashbots_getUserStats, which client libraries still call.
func (m *Methods) userStatsV1() Method {
	return m.completeUserStats(Method{
		Name:    "flashbots_getUserStats",
		Summary: "Say what `flashbots_getUserStatsV2` says, in the form of its first version.",
		About: "Deprecated: it is for clients that know no other. " +
			"The parameter may also be an object with a `blockNumber`.",
		Params:  []Param{optional("blockNumber", anyNumber.says("within 20 of the newest one"))},
		Example: `["'$NEXT'"]`,
		Result: userStatsShape("is_high_priority", "all_time_miner_payments", "all_time_gas_simulated",
			"last_7d_miner_payments", "last_7d_gas_simulated",
			"last_1d_miner_payments", "last_1d_gas_simulated"),
	}, statsBlock, func(s userStatsResult) any { return userStatsV1Result(s) })
}

// userStatsShape is the schema of the answer under the names of a version.
func userStatsShape(high, allPaid, allGas, weekPaid, weekGas, dayPaid, dayGas string) *Schema {
	return object(
		needs(high, boolean, "the signer's simulations come first"),
		needs(allPaid, decimal, "what landed orders paid, in wei"),
		needs(allGas, decimal, "gas"),
		needs(weekPaid, decimal, "of 7 days"),
		needs(weekGas, decimal, "of 7 days"),
		needs(dayPaid, decimal, "of a day"),
		needs(dayGas, decimal, "of a day"),
	)
}

// completeUserStats completes a version of the method. blockOf reads the block that is asked for;
// form converts the result to that version.
func (m *Methods) completeUserStats(version Method, blockOf func(json.RawMessage) (bundle.Number, error),
	form func(userStatsResult) any) Method {
	version.Refusals, version.Beyond = []rpc.Refusal{rpc.InvalidParams, rpc.StatsTooOld}, true
	version.Do = func(_ context.Context, call *Call) (any, error) {
		number, err := blockOf(call.Params)
		if err != nil {
			return nil, err
		}
		if err := m.nearHead(number); err != nil {
			return nil, err
		}
		return form(m.statsOfUser(call)), nil
	}
	return version
}

// statsBlockOfObject reads the block from an object.
func statsBlockOfObject(params json.RawMessage) (bundle.Number, error) {
	var p struct {
		Number bundle.Number `json:"blockNumber"`
	}
	err := bundle.ReadPositional(params, &p)
	return p.Number, err
}

// statsBlock reads the block, which is the parameter itself or in an object.
func statsBlock(params json.RawMessage) (bundle.Number, error) {
	if bytes.HasPrefix(bytes.TrimLeft(params, "[ \t\r\n"), []byte("{")) {
		return statsBlockOfObject(params)
	}
	var number bundle.Number
	err := bundle.ReadPositional(params, &number)
	return number, err
}

func (m *Methods) statsOfUser(call *Call) userStatsResult {
	s := m.Users.Stats(call.At, call.Signer)
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
