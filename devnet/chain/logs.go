package chain

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// The first topics of the pools' events. They are the same as those of Uniswap v2's pairs.
var (
	SwapTopic = pool.ABI.Events["Swap"].ID
	SyncTopic = pool.ABI.Events["Sync"].ID
)

// Synced returns the reserves in a pool's Sync event; false if the log is another event or hides
// its data.
func Synced(topics []common.Hash, data []byte) (Reserves, bool) {
	if len(topics) != 1 || topics[0] != SyncTopic || len(data) != 64 {
		return Reserves{}, false
	}
	return Reserves{EtherWei: new(uint256.Int).SetBytes(data[:32]), Tokens: new(uint256.Int).SetBytes(data[32:])}, true
}
