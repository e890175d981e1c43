package stream

import "github.com/holiman/uint256"

// mostWei is 2²⁵⁶-1.
var mostWei = new(uint256.Int).SetAllOne()

// roundUp is the lowest number with so many significant digits that is not below n; 2²⁵⁶-1 if that
// would need more than 256 bits.
func roundUp(n *uint256.Int, digits int) *uint256.Int {
	unit := uint256.NewInt(1)
	for range len(n.Dec()) - digits {
		unit.Mul(unit, uint256.NewInt(10))
	}
	rest := new(uint256.Int).Mod(n, unit)
	if rest.IsZero() {
		return new(uint256.Int).Set(n)
	}
	up, overflow := new(uint256.Int).AddOverflow(n, rest.Sub(unit, rest))
	if overflow {
		return new(uint256.Int).Set(mostWei)
	}
	return up
}
