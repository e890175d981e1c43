package figures

import (
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Parts of a builder's worth are counted in millionths.
const millionths = 1_000_000

// Bids are looked at from 12 s before their slot until 4 s into it, since builders begin when the
// slot before does.
const (
	shadeFromUs = -12_000_000
	shadeSteps  = 160
)

// shades are the parts that one builder has not bid.
type shades struct {
	bids int64
	sum  *big.Int // in millionths
	// by has counts by whole thousandths, from minus the whole to the whole.
	by map[int64]int64
}

// shading has the parts of what blocks were worth to their builders that these did not bid.
type shading struct {
	builders map[[48]byte]*shades
	// times has for each step of the time the sums of the slots that have such bids.
	times [shadeSteps][]slotSum
}

func newShading() *shading { return &shading{builders: map[[48]byte]*shades{}} }

func (s *shading) of(key [48]byte) *shades {
	if s.builders[key] == nil {
		s.builders[key] = &shades{sum: new(big.Int), by: map[int64]int64{}}
	}
	return s.builders[key]
}

// shadeOf is the part of a bid's worth that is not bid, in millionths. It is negative if more is
// bid.
func shadeOf(b *dataset.Bid) *big.Int {
	worth := weiOf(b.WorthWei)
	kept := new(big.Int).Sub(worth, weiOf(b.ValueWei))
	return kept.Quo(kept.Mul(kept, big.NewInt(millionths)), worth)
}

// AddBids adds the bids of a slot. A block that a builder sent several times, or to several relays,
// is one bid: the one that was received first. What was refused, or found invalid, is no bid: who
// cheats promises any multiple of what the block is worth.
func (p *Part) AddBids(bids []*dataset.Bid) {
	type made struct {
		builder [48]byte
		block   [32]byte
		value   amount
	}
	first := map[made]*dataset.Bid{}
	var order []made
	for _, b := range bids {
		if b.Kind != dataset.Submission || !b.WorthWei.Known || b.WorthWei == (dataset.Wei{Known: true}) ||
			b.Refusal != "" || b.Verified.Known && !b.Verified.V {
			continue
		}
		key := made{b.Builder.V, b.BlockHash.V, amount{b.ValueWei.Lo, b.ValueWei.Hi}}
		was := first[key]
		if was == nil {
			order = append(order, key)
		}
		if was == nil || b.ReceivedAt.Known && (!was.ReceivedAt.Known || b.ReceivedAt.Micros < was.ReceivedAt.Micros) {
			first[key] = b
		}
	}
	var all []*dataset.Bid
	for _, key := range order {
		all = append(all, first[key])
	}
	p.shading.add(all)
}

// add adds bids of a slot, in their order.
func (s *shading) add(bids []*dataset.Bid) {
	var sums [shadeSteps]*big.Int
	var counts [shadeSteps]int64
	for _, b := range bids {
		shade, one := shadeOf(b), s.of(b.Builder.V)
		one.bids++
		one.sum.Add(one.sum, shade)
		one.by[thousandths(shade)]++
		since := b.ReceivedAt.Micros - b.SlotStart.Micros - shadeFromUs
		if i := since / gridStepUs; b.ReceivedAt.Known && since >= 0 && i < shadeSteps {
			if sums[i] == nil {
				sums[i] = new(big.Int)
			}
			sums[i].Add(sums[i], shade)
			counts[i]++
		}
	}
	for i, n := range counts {
		if n > 0 {
			s.times[i] = append(s.times[i], slotSum{partOf(sums[i], 1), n})
		}
	}
}

// thousandths is a part in whole thousandths, not beyond the whole.
func thousandths(shade *big.Int) int64 {
	whole := new(big.Int).Quo(shade, big.NewInt(millionths/1000))
	if !whole.IsInt64() || whole.Int64() < -1000 {
		return -1000
	}
	return whole.Int64() // at most the whole: no bid is below 0
}

// partOf is a mean of parts as a number.
func partOf(sum *big.Int, n int64) float64 {
	part, _ := new(big.Rat).SetFrac(sum, big.NewInt(n*millionths)).Float64()
	return part
}

func partText(part float64) string { return strconv.FormatFloat(part, 'f', 6, 64) }

// mean and median are empty without bids.
func (s *shades) mean() string {
	if s == nil {
		return ""
	}
	return partText(partOf(s.sum, s.bids))
}

func (s *shades) median() string {
	if s == nil {
		return ""
	}
	seen := int64(0)
	for _, part := range slices.Sorted(maps.Keys(s.by)) {
		if seen += s.by[part]; seen > (s.bids-1)/2 {
			return strconv.FormatFloat(float64(part)/1000, 'f', 3, 64)
		}
	}
	return ""
}

func (s *shading) merge(other *shading) {
	for key, from := range other.builders {
		one := s.of(key)
		one.bids += from.bids
		one.sum.Add(one.sum, from.sum)
		for part, n := range from.by {
			one.by[part] += n
		}
	}
	for i := range s.times {
		s.times[i] = append(s.times[i], other.times[i]...)
	}
}

func (s *shading) figure() Figure {
	f := Figure{
		ID: "shading", Title: "Shading",
		Doc: "The part of what a block was worth to its builder that it did not bid, in each 100 ms: the mean of all bids " +
			"of which the builder says the worth, but those that were refused or found invalid, with bounds of 95 % " +
			byBootstrap + " A bid above the worth is a negative part. " +
			"The table has each builder's mean and median, too; medians are to 0.1 %, and not below -100 %.",
		X: "ms since the slot began, beginning of the 100 ms", Y: "part of the worth that is not bid",
		Header: []string{"series", "builder_pubkey", "from_ms", "bids", "mean", "median", "low", "high"},
	}
	if len(s.builders) == 0 {
		f.Missing = "No bid of the data set says what its block is worth to its builder: archives do not know it, runs of " +
			"gavel's own do."
		return f
	}
	line := Series{Name: "mean of all bids", Form: Marker}
	for i, slots := range s.times {
		sum, n := 0.0, int64(0)
		for _, one := range slots {
			sum += one.sum
			n += one.auctions
		}
		if n == 0 {
			continue
		}
		low, high := bootstrap(slots)
		from := shadeFromUs + int64(i)*gridStepUs
		line.Points = append(line.Points, Point{
			X: float64(from) / 1000, Y: sum / float64(n), Low: low, High: high, Bounded: true,
		})
		f.Rows = append(f.Rows, []string{
			"all", "", msText(from), decimal(n), partText(sum / float64(n)), "", bound(low), bound(high),
		})
	}
	keys := slices.SortedFunc(maps.Keys(s.builders), func(a, b [48]byte) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		one := s.builders[key]
		f.Rows = append(f.Rows, []string{
			"builder", keyText(key), "", decimal(one.bids), one.mean(), one.median(), "", "",
		})
	}
	f.Series = []Series{line}
	if len(line.Points) == 0 {
		f.Missing = "No bid of which the worth is known came from 12 s before its slot until 4 s into it."
		f.Series, f.Rows = nil, nil
	}
	return f
}
