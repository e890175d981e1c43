package display

import (
	"strings"

	"github.com/holiman/uint256"
)

var bars = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws values as bars in their order, at most width of them. The lowest value has the
// lowest bar, the highest value the highest bar. If there are more values than fit, neighbours
// share a bar, which shows the last of them. If all values are the same, the bars have half height.
func Sparkline(values []*uint256.Int, width int) string {
	values = thin(values, width)
	if len(values) == 0 {
		return ""
	}
	low, high := values[0], values[0]
	for _, v := range values {
		if v.Lt(low) {
			low = v
		}
		if v.Gt(high) {
			high = v
		}
	}
	span := new(uint256.Int).Sub(high, low)
	var line strings.Builder
	for _, v := range values {
		bar := uint64(len(bars)/2 - 1)
		if !span.IsZero() {
			above := new(uint256.Int).Sub(v, low)
			steps, _ := above.MulDivOverflow(above, uint256.NewInt(uint64(len(bars)-1)), span) // at most 7: cannot overflow
			bar = steps.Uint64()
		}
		line.WriteRune(bars[bar])
	}
	return line.String()
}

// thin returns at most n values, evenly spread, and always the last one.
func thin(values []*uint256.Int, n int) []*uint256.Int {
	if n <= 0 {
		return nil
	}
	if len(values) <= n {
		return values
	}
	kept := make([]*uint256.Int, n)
	for i := range kept {
		kept[i] = values[(i+1)*len(values)/n-1]
	}
	return kept
}
