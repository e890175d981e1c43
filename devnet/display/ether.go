package display

import (
	"fmt"
	"strings"

	"github.com/holiman/uint256"
)

// thousandEther is one wei less than 1000 ether. Amounts above it are shown in thousandths of an
// ether, so that a column of amounts keeps its width.
var thousandEther = uint256.MustFromDecimal("999999999999999999999")

// Ether writes an amount for people: as 0.012345 ETH if it is at least a millionth of an ether, as
// 123.456 gwei if it is at least a thousandth of a gwei, or else in wei. Further digits are cut
// off, not rounded, so that the text never shows more than there is. nil is 0 ETH.
func Ether(wei *uint256.Int) string {
	switch {
	case wei == nil || wei.IsZero():
		return "0 ETH"
	case wei.Gt(thousandEther):
		return decimal(wei, 18, 3) + " ETH"
	case wei.Gt(uint256.NewInt(1e12 - 1)):
		return decimal(wei, 18, 6) + " ETH"
	case wei.Gt(uint256.NewInt(1e6 - 1)):
		return decimal(wei, 9, 3) + " gwei"
	default:
		return wei.Dec() + " wei"
	}
}

// decimal divides by 10^digits and keeps the given number of places, all in integers.
func decimal(wei *uint256.Int, digits, places int) string {
	text := wei.Dec()
	if len(text) <= digits {
		text = strings.Repeat("0", digits-len(text)+1) + text
	}
	point := len(text) - digits
	return fmt.Sprintf("%s.%s", text[:point], text[point:point+places])
}
