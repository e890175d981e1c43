package eth

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// weiInGwei is how many wei a Gwei has.
var weiInGwei = uint256.NewInt(1_000_000_000)

// WeiOf returns an amount of the beacon chain, which counts in Gwei, in wei.
func WeiOf(gwei phase0.Gwei) *uint256.Int {
	wei := uint256.NewInt(uint64(gwei))
	return wei.Mul(wei, weiInGwei)
}

// WholeGwei returns an amount in Gwei, rounded down; false if it takes more than 64 bits.
func WholeGwei(wei *uint256.Int) (phase0.Gwei, bool) {
	gwei := new(uint256.Int).Div(wei, weiInGwei)
	return phase0.Gwei(gwei.Uint64()), gwei.IsUint64()
}
