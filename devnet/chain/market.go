package chain

import (
	"github.com/ethereum/go-ethereum/common"
)

// Addresses of the contracts.
var (
	WrappedEther = common.HexToAddress("0x00000000000000000000000000000000e7be0001") // wrapped ether
	Token        = common.HexToAddress("0x00000000000000000000000000000000e7be0002")
	RouterAt     = common.HexToAddress("0x00000000000000000000000000000000e7be0003")
	BackrunAt    = common.HexToAddress("0x00000000000000000000000000000000e7be0004")
	PoolA        = common.HexToAddress("0x00000000000000000000000000000000e7be000a")
	PoolB        = common.HexToAddress("0x00000000000000000000000000000000e7be000b")
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
