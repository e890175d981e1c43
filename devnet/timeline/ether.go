package timeline

import (
	"fmt"

	"github.com/holiman/uint256"
)

// ether writes an amount of wei in ETH, rounded down to a millionth; what is no amount is a dash.
func ether(valueWei string) string {
	value := wei(valueWei)
	if value == nil {
		return "–"
	}
	millionths := new(uint256.Int).Div(value, uint256.NewInt(1e12))
	whole, part := new(uint256.Int).DivMod(millionths, uint256.NewInt(1e6), new(uint256.Int))
	return fmt.Sprintf("%s.%06d", whole.Dec(), part.Uint64())
}

// wei reads a decimal number; nil if it is none.
func wei(text string) *uint256.Int {
	value, err := uint256.FromDecimal(text)
	if err != nil {
		return nil
	}
	return value
}
