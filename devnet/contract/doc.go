// Package contract is the market of the devnet: two pools of wrapped ether and a token, a router
// through which users swap, and a contract that closes the price gap between the pools. The
// Solidity sources are in this folder; scripts/contracts.sh compiles them to the JSON files here.
// Genesis has the contracts at fixed addresses, with their storage filled, so that trading can
// begin in block 1.
//
//	user ──buy, sell──▶ Router ──▶ PoolA ──Sync, Swap──▶ logs, which hints show
//	                                 ≠ another price than
//	searcher ──run──▶ Backrun ──▶ PoolA, PoolB ──▶ profit: a part to the block's fee recipient, the rest to the searcher
//
// The package also has the pools' arithmetic in Go (quote.go), for agents that decide before they
// sign.
package contract

import (
	"github.com/ethereum/go-ethereum/common"
)

// Addresses of the contracts.
var (
	Ether     = common.HexToAddress("0x00000000000000000000000000000000e7be0001") // wrapped ether
	Token     = common.HexToAddress("0x00000000000000000000000000000000e7be0002")
	RouterAt  = common.HexToAddress("0x00000000000000000000000000000000e7be0003")
	BackrunAt = common.HexToAddress("0x00000000000000000000000000000000e7be0004")
	PoolA     = common.HexToAddress("0x00000000000000000000000000000000e7be000a")
	PoolB     = common.HexToAddress("0x00000000000000000000000000000000e7be000b")
)

// Pools are the two pools.
var Pools = [2]common.Address{PoolA, PoolB}

// Other returns the other pool, and whether the address is a pool at all.
func Other(pool common.Address) (common.Address, bool) {
	switch pool {
	case PoolA:
		return PoolB, true
	case PoolB:
		return PoolA, true
	}
	return common.Address{}, false
}
