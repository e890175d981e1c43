package chain

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Gas limits of the calls.
const (
	SwapGas    = 250_000
	BackrunGas = 450_000
)

// BuyCall returns the calldata with which RouterAt buys tokens for the ether that is sent, but at
// least leastTokens.
func BuyCall(pool common.Address, leastTokens *uint256.Int) []byte {
	return pack(router, "buy", pool, leastTokens.ToBig())
}

// SellCall returns the calldata with which RouterAt sells tokens of the sender for wrapped ether,
// but for at least leastWei.
func SellCall(pool common.Address, tokens, leastWei *uint256.Int) []byte {
	return pack(router, "sell", pool, tokens.ToBig(), leastWei.ToBig())
}

// RunCall returns the calldata with which BackrunAt closes the price gap between two pools. It uses
// at most the ether that is sent, and pays a percentage of its profit to the block's fee recipient.
func RunCall(first, second common.Address, percent uint64) []byte {
	return pack(backrun, "run", first, second, new(big.Int).SetUint64(percent))
}

// ReserveCalls return the calldata that asks a pool for its reserves of ether and of the token.
// Each call answers one word.
func ReserveCalls() (etherWei, tokens []byte) { return pack(pool, "reserve0"), pack(pool, "reserve1") }

// pack encodes a call of one of our contracts. It panics if the arguments do not fit the method.
func pack(c compiled, method string, args ...any) []byte {
	data, err := c.ABI.Pack(method, args...)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", method, err))
	}
	return data
}
