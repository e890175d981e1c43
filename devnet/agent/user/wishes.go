package user

import (
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

// privacy is the strategy of users that send to the bundle RPC only.
type privacy struct {
	seed uint64
	// One in cancelEvery transactions is cancelled later in its slot; 0 cancels none.
	cancelEvery int
	// builders are preferred by some users. friend is the account with which some split refunds.
	builders []string
	friend   common.Address
}

// moment is when a user has its turn.
type moment struct {
	slot uint64
	next eth.Fork // that of the next slot
	// turn counts the users of this slot from 0, sent all transactions that were sent before.
	turn, sent int
	self       common.Address
}

// private is a transaction that a user wants to send, without nonce and chain id.
type private struct {
	tx *types.DynamicFeeTx
	// wishes are its preferences: what searchers may see, who gets the refund, which builders may
	// have it. nil leaves all to the service.
	wishes map[string]any
	// regrets says that the user cancels it later in the slot.
	regrets bool
}

// decide is pure: the same seed, slot and turn give the same transaction.
func (p privacy) decide(at moment) private {
	random := rand.New(rand.NewPCG(p.seed, at.slot<<16|uint64(at.turn)))
	return private{
		tx: wanted(random, at.next), wishes: p.wishes(random, at.self),
		regrets: p.cancelEvery > 0 && (at.sent+1)%p.cancelEvery == 0,
	}
}

// wanted returns a swap in one of the pools, of 5 to 40 ether or as many tokens as these are worth,
// or sometimes a transfer.
func wanted(random *rand.Rand, next eth.Fork) *types.DynamicFeeTx {
	tx := &types.DynamicFeeTx{
		GasTipCap: big.NewInt((1 + random.Int64N(30)) * params.GWei / 10), GasFeeCap: big.NewInt(200 * params.GWei),
		Gas: chain.CallGas(next, chain.SwapGas), To: &chain.RouterAt, Value: new(big.Int),
	}
	pool, amount := chain.Pools[random.IntN(2)], new(uint256.Int).Mul(uint256.NewInt(5+random.Uint64N(36)),
		uint256.NewInt(params.Ether))
	switch random.IntN(5) {
	case 0:
		tx.Gas, tx.To, tx.Value = chain.TransferGas(next), &common.Address{0x70, byte(random.Uint32())},
			big.NewInt(1+random.Int64N(params.GWei))
	case 1, 2:
		tx.Value, tx.Data = amount.ToBig(), chain.BuyCall(pool, new(uint256.Int))
	default:
		tokens := amount.Mul(amount, openingPrice)
		tx.Data = chain.SellCall(pool, tokens, new(uint256.Int))
	}
	return tx
}

// openingPrice is how many tokens an ether buys at genesis.
var openingPrice = new(uint256.Int).Div(chain.OpeningTokens, chain.OpeningEtherWei)

// wishes returns one of nine kinds of preferences.
func (p privacy) wishes(random *rand.Rand, self common.Address) map[string]any {
	sharing := func(hints ...string) map[string]any { return map[string]any{"hints": append([]string{}, hints...)} }
	switch random.IntN(9) {
	case 0:
		return map[string]any{"privacy": sharing("hash", "logs")}
	case 1:
		return map[string]any{"privacy": sharing("contract_address", "function_selector", "calldata", "logs")}
	case 2:
		return map[string]any{"privacy": sharing("full", "tx_hash", "default_logs")}
	case 3:
		return map[string]any{"privacy": sharing("hash")}
	case 4:
		return map[string]any{"fast": true}
	case 5:
		shared := sharing("default_logs")
		shared["builders"] = p.builders
		return map[string]any{"privacy": shared}
	case 6:
		// A split of 60 to 40 of the usual 90 %: percentages for addresses are of the whole value.
		return map[string]any{"privacy": sharing("logs"), "validity": map[string]any{"refund": []map[string]any{
			{"address": self, "percent": 54}, {"address": p.friend, "percent": 36},
		}}}
	case 7:
		return map[string]any{"privacy": sharing()} // searchers see nothing
	}
	return nil
}

// underWay is a pending transaction.
type underWay struct {
	nonce, lastBlock uint64
}

// triedFor is for how many blocks the service tries to include a private transaction.
const triedFor = 25

// over says whether a transaction has landed, or is not tried any more. next is the wallet's nonce
// after the newest block, whose number is head.
func (u underWay) over(next, head uint64) bool { return next > u.nonce || head > u.lastBlock }
