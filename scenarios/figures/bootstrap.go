package figures

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// byBootstrap ends the description of a figure with bounds.
const byBootstrap = "by bootstrap over slots (1,000 samples of as many slots, with a fixed seed)."

const samples = 1000

// slotSum is the sum of a quantity over the auctions of a slot, and their number.
type slotSum struct {
	sum      float64
	auctions int64
}

// bootstrap returns bounds of 95 % for the mean per auction. Slots are drawn anew, with all
// auctions of theirs, because what relays see of a slot is not independent. The same slots give
// the same bounds.
func bootstrap(slots []slotSum) (low, high float64) {
	if len(slots) == 0 {
		return 0, 0
	}
	random := rand.New(rand.NewPCG(1, uint64(len(slots))))
	means := make([]float64, 0, samples)
	for range samples {
		sum, auctions := 0.0, int64(0)
		for range slots {
			one := slots[random.IntN(len(slots))]
			sum += one.sum
			auctions += one.auctions
		}
		means = append(means, sum/float64(max(auctions, 1)))
	}
	slices.Sort(means)
	return means[samples*25/1000], means[samples*975/1000-1]
}

// bound writes a bound.
func bound(v float64) string { return strconv.FormatFloat(v, 'f', 9, 64) }
